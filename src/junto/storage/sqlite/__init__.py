"""State in a SQLite file, which several processes may use at once."""
