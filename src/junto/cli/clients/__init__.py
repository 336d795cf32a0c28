"""The MCP clients that Junto can be added to: their configuration files and formats."""
