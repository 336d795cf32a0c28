"""The tools: a module here with a `build_tools` is all that a tool needs."""
