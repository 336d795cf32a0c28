"""Logs, metrics and traces of the work."""
