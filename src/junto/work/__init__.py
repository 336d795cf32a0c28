"""Tasks and processes that end when they should, and not before."""
