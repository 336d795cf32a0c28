"""Local tools that cannot escape."""
