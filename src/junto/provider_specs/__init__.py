"""What Junto knows about each provider: one `ProviderSpec`, in a file of its own in `builtin`."""
