"""Junto: one MCP server, a council of models, one memory."""

__version__ = "0.1.0"
