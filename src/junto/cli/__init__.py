"""The command `junto`."""

from junto.cli.main import main

__all__ = ["main"]
