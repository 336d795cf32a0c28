"""Asyncio tasks, supervised processes and the daemon, with reliable cleanup."""
