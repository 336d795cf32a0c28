"""Embedders: an in-process model, and the embedding endpoints of providers."""
