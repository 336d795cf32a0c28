"""Junto: one MCP server, a council of models, one memory.

As a library: `async with junto.open() as app: await app.chat("Hello")`; see `junto.api`.
"""

from typing import TYPE_CHECKING, Any

from junto.version import __version__

if TYPE_CHECKING:
    from junto.api import ChatReply, Effort, Junto, JuntoError, TextDelta, open  # noqa: A004

__all__ = ["ChatReply", "Effort", "Junto", "JuntoError", "TextDelta", "__version__", "open"]


def __getattr__(name: str) -> Any:
    """Import the library on first use: the command starts without it."""
    if name not in __all__:
        raise AttributeError(f"module 'junto' has no attribute {name!r}")
    from junto import api

    return getattr(api, name)
