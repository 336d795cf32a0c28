"""Indexing and search of documents, notes, conversations and the manual."""
