"""Short descriptions of what an agent is doing, for status updates."""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

_MAX_LINE_CHARS = 80

ToolInput = Mapping[str, Any]


def iter_activities(message: Mapping[str, Any], cwd: str) -> Iterator[str]:
    """Yield a description of each activity that a message reports."""
    match message:
        case {"type": "system", "subtype": "init"}:
            yield "thinking"
        case {"type": "system", "subtype": "api_retry"}:
            yield "asking its model again"
        case {"type": "assistant", "message": {"content": [*blocks]}}:
            for block in blocks:
                if block.get("type") == "tool_use":
                    yield describe_tool_call(str(block.get("name")), block.get("input") or {}, cwd)
        case _:
            pass


def describe_tool_call(tool: str, tool_input: ToolInput, cwd: str) -> str:
    """Describe a tool call in one short line."""
    describe = _DESCRIBERS.get(tool)
    return _truncate_line(describe(tool_input, cwd) if describe else _describe_other(tool))


def _build_file_describer(verb: str) -> Callable[[ToolInput, str], str]:
    def describe(tool_input: ToolInput, cwd: str) -> str:
        path = str(tool_input.get("file_path") or tool_input.get("notebook_path") or "a file")
        is_inside = path.startswith(cwd.rstrip("/") + "/")
        return f"{verb} {os.path.relpath(path, cwd) if is_inside else path}"

    return describe


def _build_argument_describer(verb: str, *names: str) -> Callable[[ToolInput, str], str]:
    def describe(tool_input: ToolInput, _cwd: str) -> str:
        argument = next((str(tool_input[name]) for name in names if tool_input.get(name)), "")
        return f"{verb} {argument}".strip()

    return describe


def _describe_fetch(tool_input: ToolInput, _cwd: str) -> str:
    try:
        host = urlsplit(str(tool_input.get("url", ""))).hostname
    except ValueError:
        host = None
    return f"fetching {host or 'a page'}"


def _describe_other(tool: str) -> str:
    if tool.startswith("mcp__"):
        server, _, name = tool.removeprefix("mcp__").partition("__")
        return f"using {name} of {server}"
    return f"using {tool}"


def _truncate_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_LINE_CHARS else f"{line[: _MAX_LINE_CHARS - 1]}…"


_DESCRIBERS: dict[str, Callable[[ToolInput, str], str]] = {
    "Read": _build_file_describer("reading"),
    "Write": _build_file_describer("writing"),
    "Edit": _build_file_describer("editing"),
    "MultiEdit": _build_file_describer("editing"),
    "NotebookEdit": _build_file_describer("editing"),
    "Bash": _build_argument_describer("running", "command"),
    "Glob": _build_argument_describer("looking for", "pattern"),
    "Grep": _build_argument_describer("searching for", "pattern"),
    "WebFetch": _describe_fetch,
    "WebSearch": _build_argument_describer("searching the web for", "query"),
    "Task": _build_argument_describer("giving a helper work:", "description"),
    "Agent": _build_argument_describer("giving a helper work:", "description"),
}
