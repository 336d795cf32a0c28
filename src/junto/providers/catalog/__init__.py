"""Which models can be asked, what is known about each, and how it is reached."""
