"""Command definitions and options. Each command imports its implementation when it is called."""
