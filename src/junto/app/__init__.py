"""Builds a running Junto from settings: the application, and the MCP server on top of it."""
