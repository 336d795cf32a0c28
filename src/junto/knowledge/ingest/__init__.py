"""Indexing of directories, files and web pages."""
