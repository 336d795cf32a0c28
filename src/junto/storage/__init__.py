"""Persistent and shared state: SQLite, PostgreSQL and Redis."""
