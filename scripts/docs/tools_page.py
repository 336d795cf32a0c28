"""Writes docs/reference/tools.md: every tool, as the registry knows it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from junto.app.application import build_app
from junto.app.server import build_server_spec
from junto.settings import load_settings
from junto.settings.enums import ToolAccess
from junto.tools.tool import Group, Hints, Tool

_HEAD = """\
# Tools

Every tool that a client of `junto mcp` sees when nothing is configured. Over HTTP those that touch this machine
are offered only as far as [`tools.over_http`](settings.md#tools) says; `tools.disabled` switches single
tools, or a whole group, off. A name may also be written in camelCase (`readFile`). Each result comes twice: as
structured content with the fields below, and as a text that stands on its own. What a failure looks like is in
[errors](errors.md).

A call that *may be long* is a [job](../explanation/jobs.md) when it takes longer than a client waits.
"""
_ABOUT = {
    Group.MODELS: "Asking models. [More](../how-to/models.md)",
    Group.MEMORY: "What was said. [More](../explanation/conversations.md)",
    Group.KNOWLEDGE: "Documents and notes. [More](../how-to/knowledge.md)",
    Group.AGENT: "Work that goes on by itself. [More](../how-to/agent.md), and about [jobs](../explanation/jobs.md)",
    Group.KIT: "This machine: files, commands, the web. [More](../how-to/local-tools.md)",
    Group.OPS: "How Junto itself is doing.",
}


def tools_page() -> str:
    return _HEAD + "".join(_groups(tools()))


def tools(access: ToolAccess = ToolAccess.ALL, **variables: str) -> list[Tool[Any]]:
    """Return the tools of a Junto with these settings; without any, it has all of them."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environment = {"JUNTO_STATE_DIRECTORY": folder, **variables}
        loaded = load_settings(environment=environment, home_dir=place, working_dir=place)
        with build_app(loaded, default_level="error") as app:
            return build_server_spec(app, access).tools.tools


def _groups(every: list[Tool[Any]]) -> Iterator[str]:
    for group, about in _ABOUT.items():
        members = [tool for tool in every if tool.group is group]
        if members:
            yield f"\n## The group `{group}`\n\n{about}\n"
            yield from map(_section, members)


def _section(tool: Tool[Any]) -> str:
    lines = [f"\n### `{tool.name}`", "", f"*{tool.title}.* {tool.description}", ""]
    lines += ["; ".join(_manners(tool)).capitalize() + ".", ""]
    schema = tool.arguments.model_json_schema(by_alias=True)
    if rows := list(_rows(schema, asked=True)):
        lines += ["| argument | takes | |", "|---|---|---|", *rows, ""]
    else:
        lines += ["It takes no arguments.", ""]
    if tool.result:
        result = tool.result.model_json_schema(by_alias=True, mode="serialization")
        lines += ["| result | is |", "|---|---|", *_rows(result, asked=False)]
    else:
        lines.append("Its result is written by hand, in the protocol's own form.")
    return "\n".join(lines) + "\n"


def _manners(tool: Tool[Any]) -> Iterator[str]:
    hints: Hints = tool.hints
    if hints.read_only:
        yield "only looks"
    else:
        yield "may destroy something" if hints.destructive else "adds, and destroys nothing"
        yield (
            "may be repeated without harm" if hints.idempotent else "twice is not the same as once"
        )
    yield "reaches beyond this machine" if hints.open_world else "stays on this machine"
    if tool.is_long_running:
        yield "may be long"


def _rows(schema: dict[str, Any], *, asked: bool, prefix: str = "") -> Iterator[str]:
    """Yield a row for each field; what an argument holds has rows of its own."""
    definitions = schema.get("$defs", {})
    must = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        kind = _kind(field, definitions)
        if not asked:
            yield f"| `{name}` | {kind}{'' if name in must else ', optional'} |"
            continue
        about = _description(field)
        words = [*(["Required"] if name in must else []), *([about] if about else [])]
        inner = _resolved(field, definitions)
        yield f"| `{prefix}{name}` | {'object' if inner else kind} | {'. '.join(words)} |"
        if inner:
            nested = inner | {"$defs": definitions}
            yield from _rows(nested, asked=asked, prefix=f"{prefix}{name}.")


def _description(field: dict[str, Any]) -> str:
    told = (_description(each) for each in field.get("anyOf", ()))
    return str(field.get("description") or next(filter(None, told), ""))


def _resolved(field: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any] | None:
    """Return the object that a field holds, if it is one with fields."""
    for each in (field, *field.get("anyOf", ())):
        found = definitions.get(each.get("$ref", "").rsplit("/", 1)[-1], each)
        if "properties" in found:
            return dict(found)
    return None


def _kind(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Say in a few words what a field holds."""
    if "$ref" in field:
        return _kind(definitions[field["$ref"].rsplit("/", 1)[1]] | {"title": ""}, definitions)
    if "anyOf" in field:
        kinds = [_kind(each, definitions) for each in field["anyOf"] if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in field:
        return "one of " + ", ".join(f"`{each}`" for each in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    match field.get("type"):
        case "object" if "properties" in field:
            inner = ", ".join(f"`{name}`" for name in field["properties"])
            return f"object of {inner}"
        case "array":
            return f"list of {_kind(field['items'], definitions)}" if field.get("items") else "list"
        case "integer" | "number":
            return "number" + _range(field)
        case None:
            return "anything"
        case other:
            return str(other)


def _range(field: dict[str, Any]) -> str:
    low, high = field.get("minimum"), field.get("maximum")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    return f" of at least {low}" if low is not None else ""
