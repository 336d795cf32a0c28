"""Where an answer has its facts from: the files and pages that a model has looked at."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from junto.domain.messages import Message, ToolCall, ToolResult


def sources(between: Iterable[Message]) -> list[dict[str, Any]]:
    """Return what was read on the way to an answer, each once."""
    parts = [part for message in between for part in message.parts]
    failed = {part.call_id for part in parts if isinstance(part, ToolResult) and part.is_error}
    calls = [part for part in parts if isinstance(part, ToolCall) and part.id not in failed]
    found = {
        source["url"]: source for call in calls if (source := _source(call.name, call.arguments))
    }
    return [{"id": str(number), **source} for number, source in enumerate(found.values(), 1)]


def _source(name: str, arguments: Any) -> dict[str, str] | None:
    match name, arguments:
        case "http_get", {"url": str(url)}:
            return {"title": url, "url": url}
        case "read_file", {"path": str(path)}:
            return {"title": path, "url": f"file:///{quote(path.lstrip('/'))}"}
        case _:
            return None
