"""Checks for `junto doctor`: what is wrong with an installation, and how to fix it."""
