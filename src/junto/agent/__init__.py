"""Claude Code as a tool: live, bounded, resumable, and never an orphan."""
