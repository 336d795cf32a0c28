"""What an agent is doing, in a few words for people."""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

_LONGEST = 80

Input = Mapping[str, Any]


def doings(message: Mapping[str, Any], cwd: str) -> Iterator[str]:
    """Yield what a message says that is being done."""
    match message:
        case {"type": "system", "subtype": "init"}:
            yield "thinking"
        case {"type": "system", "subtype": "api_retry"}:
            yield "asking its model again"
        case {"type": "assistant", "message": {"content": [*blocks]}}:
            for block in blocks:
                if block.get("type") == "tool_use":
                    yield doing(str(block.get("name")), block.get("input") or {}, cwd)
        case _:
            pass


def doing(tool: str, given: Input, cwd: str) -> str:
    """Return what the use of a tool does."""
    say = _WORDS.get(tool)
    return _line(say(given, cwd) if say else _other(tool))


def _file(verb: str) -> Callable[[Input, str], str]:
    def say(given: Input, cwd: str) -> str:
        path = str(given.get("file_path") or given.get("notebook_path") or "a file")
        inside = path.startswith(cwd.rstrip("/") + "/")
        return f"{verb} {os.path.relpath(path, cwd) if inside else path}"

    return say


def _about(verb: str, *names: str) -> Callable[[Input, str], str]:
    def say(given: Input, _cwd: str) -> str:
        what = next((str(given[name]) for name in names if given.get(name)), "")
        return f"{verb} {what}".strip()

    return say


def _page(given: Input, _cwd: str) -> str:
    try:
        host = urlsplit(str(given.get("url", ""))).hostname
    except ValueError:
        host = None
    return f"fetching {host or 'a page'}"


def _other(tool: str) -> str:
    if tool.startswith("mcp__"):
        server, _, name = tool.removeprefix("mcp__").partition("__")
        return f"using {name} of {server}"
    return f"using {tool}"


def _line(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


_WORDS: dict[str, Callable[[Input, str], str]] = {
    "Read": _file("reading"),
    "Write": _file("writing"),
    "Edit": _file("editing"),
    "MultiEdit": _file("editing"),
    "NotebookEdit": _file("editing"),
    "Bash": _about("running", "command"),
    "Glob": _about("looking for", "pattern"),
    "Grep": _about("searching for", "pattern"),
    "WebFetch": _page,
    "WebSearch": _about("searching the web for", "query"),
    "Task": _about("giving a helper work:", "description"),
    "Agent": _about("giving a helper work:", "description"),
}
