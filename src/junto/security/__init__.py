"""What may be touched, and what may be told."""
