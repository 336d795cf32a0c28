"""Stores in a PostgreSQL database, which many servers may share."""
