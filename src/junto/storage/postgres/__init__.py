"""State in PostgreSQL, which many servers may share."""
