"""Codecs for provider APIs: encode questions as JSON, decode events. No I/O."""
