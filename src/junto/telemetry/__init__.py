"""Logs, metrics, trace ids and usage records."""
