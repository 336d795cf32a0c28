"""Claude Code as a tool: streamed, limited and resumable, with no processes left behind."""
