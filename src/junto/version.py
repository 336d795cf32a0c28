"""The version of Junto."""

__version__ = "0.1.0"
