"""Files, pages and whatever comes through a pipe, on their way into the store."""
