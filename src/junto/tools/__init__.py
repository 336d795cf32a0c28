"""Everything a client sees: tools, resources, prompts, completions."""
