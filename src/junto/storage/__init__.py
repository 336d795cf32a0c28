"""State down here."""
