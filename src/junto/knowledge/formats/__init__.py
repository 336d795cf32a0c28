"""Extraction of text from untrusted files in many formats."""
