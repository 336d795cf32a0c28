"""Generators of the pages in docs/ that are made from the program itself."""
