"""Long lists, a page at a time."""

import re
from collections.abc import Sequence
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

_CURSOR = re.compile(r"after-([0-9]{1,9})")


def page_of(
    key: str, items: Sequence[dict[str, Any]], cursor: str | None, size: int
) -> dict[str, Any]:
    """Return the part of `items` that `cursor` stands for, under `key`, with the next cursor.

    Raises:
        MCPError: the cursor is not one of ours.
    """
    start = 0 if cursor is None else _start(cursor, len(items))
    end = start + size
    page: dict[str, Any] = {key: list(items[start:end])}
    return page | {"nextCursor": f"after-{end}"} if end < len(items) else page


def _start(cursor: str, length: int) -> int:
    match = _CURSOR.fullmatch(cursor)
    if match and int(match[1]) <= length:
        return int(match[1])
    raise MCPError(INVALID_PARAMS, "Unknown cursor. Leave it out to start from the beginning.")
