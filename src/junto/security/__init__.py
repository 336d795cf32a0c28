"""Access control for paths, commands and URLs, and redaction of secrets."""
