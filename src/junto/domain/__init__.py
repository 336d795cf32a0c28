"""Immutable data types and store protocols that all layers share; no I/O."""
