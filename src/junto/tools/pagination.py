"""Cursor pagination for the list methods of the protocol."""

import re
from collections.abc import Sequence
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

_CURSOR_PATTERN = re.compile(r"after-([0-9]{1,9})")


def build_page(
    key: str, items: Sequence[dict[str, Any]], cursor: str | None, size: int
) -> dict[str, Any]:
    """Return the page of `items` at `cursor` under `key`, with the cursor of the next page.

    Raises:
        MCPError: the cursor is invalid.
    """
    start = 0 if cursor is None else _parse_cursor(cursor, len(items))
    end = start + size
    page: dict[str, Any] = {key: list(items[start:end])}
    return page | {"nextCursor": f"after-{end}"} if end < len(items) else page


def _parse_cursor(cursor: str, length: int) -> int:
    match = _CURSOR_PATTERN.fullmatch(cursor)
    if match and int(match[1]) <= length:
        return int(match[1])
    raise MCPError(INVALID_PARAMS, "Unknown cursor. Leave it out to start from the beginning.")
