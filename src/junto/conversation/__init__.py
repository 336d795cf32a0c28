"""Conversations: what is remembered, how much of it is sent, and what comes back."""
