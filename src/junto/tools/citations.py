"""The sources of an answer, collected from the tool calls that led to it."""

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from junto.domain.messages import Message, TextPart, ToolCall, ToolResult

# A tool result as `toolbox.fence_data` formats it for the model.
_FENCED_DATA = re.compile(r"<data-\w+ from='[^']*'>\n(.*)\n</data-", re.DOTALL)
# The first line of a search hit: title, id, URL. Snippets are indented, so that the content of a
# document cannot imitate a hit.
_SEARCH_HIT = re.compile(r"^(?! )(.{1,400}) \[([0-9a-f]{32}(?::\d+)?)\] (\S+)$", re.MULTILINE)

# The first line of a document that was fetched.
_DOCUMENT_HEAD = re.compile(r"(.{1,400}) \[(\S{1,4096})\] (\S+)\n")


def collect_sources(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return the distinct sources that successful tool calls read."""
    parts = [part for message in messages for part in message.parts]
    results = {part.call_id: part for part in parts if isinstance(part, ToolResult)}
    sources: dict[str, dict[str, str]] = {}
    for call in parts:
        if isinstance(call, ToolCall) and not _is_error(results.get(call.id)):
            for source in _iter_sources(call, results.get(call.id)):
                sources.setdefault(source["url"], source)
    return [{"id": str(number)} | source for number, source in enumerate(sources.values(), 1)]


def _is_error(result: ToolResult | None) -> bool:
    return bool(result and result.is_error)


def _iter_sources(call: ToolCall, result: ToolResult | None) -> Iterator[dict[str, str]]:
    match call.name, call.arguments:
        case "http_get", {"url": str(url)}:
            yield {"title": url, "url": url}
        case "read_file", {"path": str(path)}:
            yield {"title": path, "url": f"file:///{quote(path.lstrip('/'))}"}
        case "fetch", _:
            yield from _iter_document_sources(_extract_data(result))
        case (("search_documents" | "search_system_knowledge"), _):
            for title, id_, url in _SEARCH_HIT.findall(_extract_data(result)):
                yield {"id": id_, "title": title, "url": url}


def _iter_document_sources(text: str) -> Iterator[dict[str, str]]:
    if match := _DOCUMENT_HEAD.match(text):
        title, id_, url = match.groups()
        yield {"id": id_, "title": title, "url": url}
        return
    with contextlib.suppress(ValueError):  # the connector's format is JSON
        match json.loads(text):
            case {"id": str(id_), "title": str(title), "url": str(url)}:
                yield {"id": id_, "title": title, "url": url}


def _extract_data(result: ToolResult | None) -> str:
    texts = [part.text for part in result.content if isinstance(part, TextPart)] if result else []
    match = _FENCED_DATA.search("\n".join(texts))
    return match[1] if match else ""
