"""Text processing that depends on nothing else: charsets, HTML to text, search tokens."""
