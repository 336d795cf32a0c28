"""Sandboxed local tools: files, commands, web requests and system information."""
