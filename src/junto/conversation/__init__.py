"""Conversations with models: context, tool loop, storage of turns, history and export."""
