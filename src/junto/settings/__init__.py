"""Typed settings, and the only code that reads environment variables and config files."""

from junto.settings.loader import LoadedSettings, load_settings
from junto.settings.schema import Settings

__all__ = ["LoadedSettings", "Settings", "load_settings"]
