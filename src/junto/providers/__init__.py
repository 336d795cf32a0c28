"""Models out there."""
