"""Texts as vectors: by a small model in this process, or by a provider."""
