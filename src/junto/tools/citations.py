"""Where an answer has its facts from: what a model has looked at on the way to it."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from junto.domain.messages import Message, Text, ToolCall, ToolResult

# A result as a model gets it: data between marks.
_DATA = re.compile(r"<data-\w+ from='[^']*'>\n(.*)\n</data-", re.DOTALL)
# A passage that was found: its title, its id, its address. What a document says is set in, so that
# it cannot pose as one.
_FOUND = re.compile(r"^(?! )(.{1,400}) \[([0-9a-f]{32}(?::\d+)?)\] (\S+)$", re.MULTILINE)


def sources(between: Iterable[Message]) -> list[dict[str, Any]]:
    """Return what was read on the way to an answer, each once."""
    parts = [part for message in between for part in message.parts]
    results = {part.call_id: part for part in parts if isinstance(part, ToolResult)}
    found: dict[str, dict[str, str]] = {}
    for call in parts:
        if isinstance(call, ToolCall) and not _failed(results.get(call.id)):
            for source in _sources(call, results.get(call.id)):
                found.setdefault(source["url"], source)
    return [{"id": str(number)} | source for number, source in enumerate(found.values(), 1)]


def _failed(result: ToolResult | None) -> bool:
    return bool(result and result.is_error)


def _sources(call: ToolCall, result: ToolResult | None) -> Iterator[dict[str, str]]:
    match call.name, call.arguments:
        case "http_get", {"url": str(url)}:
            yield {"title": url, "url": url}
        case "read_file", {"path": str(path)}:
            yield {"title": path, "url": f"file:///{quote(path.lstrip('/'))}"}
        case "fetch", _:
            yield from _fetched(_data(result))
        case (("search_documents" | "search_system_knowledge"), _):
            for title, id_, url in _FOUND.findall(_data(result)):
                yield {"id": id_, "title": title, "url": url}


def _fetched(text: str) -> Iterator[dict[str, str]]:
    try:
        document = json.loads(text)
    except ValueError:
        return
    match document:
        case {"id": str(id_), "title": str(title), "url": str(url)}:
            yield {"id": id_, "title": title, "url": url}


def _data(result: ToolResult | None) -> str:
    texts = [part.text for part in result.content if isinstance(part, Text)] if result else []
    found = _DATA.search("\n".join(texts))
    return found[1] if found else ""
