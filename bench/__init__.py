"""Junto measured against the bare parts it stands on, in one run, as ratios."""
