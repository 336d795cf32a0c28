"""What stands around every question to a model, one wrapper for each concern."""
