"""Stores in a SQLite file, which several processes may use at the same time."""
