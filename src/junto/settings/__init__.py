"""Every setting in one typed tree: the only reader of environment and files."""

from junto.settings.loading import Loaded, load
from junto.settings.tree import Settings

__all__ = ["Loaded", "Settings", "load"]
