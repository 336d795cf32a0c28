"""The MCP interface of the server: tools, resources, prompts, completions and tasks."""
