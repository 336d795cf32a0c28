"""Resources: things a client can read by address."""

import base64
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from junto.tools.pages import page_of

Content = str | bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One thing to read: its address, what it is, and how to get it."""

    uri: str
    name: str
    title: str
    description: str
    read: Callable[[], Awaitable[Content]]
    mime_type: str = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A family of addresses, such as `conversation://{id}`; `read` returns None for a stranger."""

    uri_template: str
    name: str
    title: str
    description: str
    read: Callable[[str], Awaitable[Content | None]]
    mime_type: str = "application/json"


class Resources:
    """Every resource on offer."""

    def __init__(
        self, resources: Sequence[Resource], templates: Sequence[Template] = (), page: int = 50
    ) -> None:
        self._resources = {resource.uri: resource for resource in resources}
        self._templates = templates
        self._page = page

    def listed(self, cursor: str | None) -> dict[str, Any]:
        """Return one page of the list of resources."""
        definitions = [{"uri": r.uri} | _about(r) for r in self._resources.values()]
        return page_of("resources", definitions, cursor, self._page)

    def templates(self, cursor: str | None) -> dict[str, Any]:
        """Return one page of the list of templates."""
        definitions = [{"uriTemplate": t.uri_template} | _about(t) for t in self._templates]
        return page_of("resourceTemplates", definitions, cursor, self._page)

    async def read(self, uri: str) -> dict[str, Any]:
        """Return what lies at `uri`.

        Raises:
            MCPError: there is nothing.
        """
        if resource := self._resources.get(uri):
            return _contents(uri, resource.mime_type, await resource.read())
        for template in self._templates:
            if (content := await template.read(uri)) is not None:
                return _contents(uri, template.mime_type, content)
        raise MCPError(
            INVALID_PARAMS,
            f"Unknown resource: {uri[:200]}. resources/list shows what there is.",
            {"uri": uri},
        )


def _about(thing: Resource | Template) -> dict[str, Any]:
    return {
        "name": thing.name,
        "title": thing.title,
        "description": thing.description,
        "mimeType": thing.mime_type,
    }


def _contents(uri: str, mime_type: str, content: Content) -> dict[str, Any]:
    body = (
        {"text": content}
        if isinstance(content, str)
        else {"blob": base64.b64encode(content).decode()}
    )
    return {"contents": [{"uri": uri, "mimeType": mime_type} | body]}
