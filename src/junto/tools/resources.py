"""MCP resources and resource templates, and the built-in resources for health and settings."""

import base64
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from junto.telemetry.server_status import ServerStatus
from junto.tools.pagination import build_page

ResourceContent = str | bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource with a fixed URI."""

    uri: str
    name: str
    title: str
    description: str
    read: Callable[[], Awaitable[ResourceContent]]
    mime_type: str = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceTemplate:
    """A resource template, such as `conversation://{id}`; `read` returns None for unknown URIs."""

    uri_template: str
    name: str
    title: str
    description: str
    read: Callable[[str], Awaitable[ResourceContent | None]]
    mime_type: str = "application/json"


class Resources:
    """All resources and resource templates of the server."""

    def __init__(
        self,
        resources: Sequence[Resource],
        templates: Sequence[ResourceTemplate] = (),
        page_size: int = 50,
    ) -> None:
        self._resources = {resource.uri: resource for resource in resources}
        self._templates = templates
        self._page_size = page_size

    def list_page(self, cursor: str | None) -> dict[str, Any]:
        """Return one page of the list of resources."""
        definitions = [{"uri": r.uri} | _describe(r) for r in self._resources.values()]
        return build_page("resources", definitions, cursor, self._page_size)

    def list_template_page(self, cursor: str | None) -> dict[str, Any]:
        """Return one page of the list of resource templates."""
        definitions = [{"uriTemplate": t.uri_template} | _describe(t) for t in self._templates]
        return build_page("resourceTemplates", definitions, cursor, self._page_size)

    async def read(self, uri: str) -> dict[str, Any]:
        """Return the contents of the resource at `uri`.

        Raises:
            MCPError: the resource does not exist.
        """
        if resource := self._resources.get(uri):
            return _build_contents(uri, resource.mime_type, await resource.read())
        for template in self._templates:
            if (content := await template.read(uri)) is not None:
                return _build_contents(uri, template.mime_type, content)
        raise MCPError(
            INVALID_PARAMS,
            f"Unknown resource: {uri[:200]}. resources/list shows what there is.",
            {"uri": uri},
        )


def _describe(resource: Resource | ResourceTemplate) -> dict[str, Any]:
    return {
        "name": resource.name,
        "title": resource.title,
        "description": resource.description,
        "mimeType": resource.mime_type,
    }


def _build_contents(uri: str, mime_type: str, content: ResourceContent) -> dict[str, Any]:
    body = (
        {"text": content}
        if isinstance(content, str)
        else {"blob": base64.b64encode(content).decode()}
    )
    return {"contents": [{"uri": uri, "mimeType": mime_type} | body]}


def build_health_resource(status: ServerStatus) -> Resource:
    """Build the resource `status://health`."""

    async def read() -> str:
        return json.dumps(status.report(), indent=2)

    return Resource(
        uri="status://health",
        name="health",
        title="Health",
        description="Whether the server is well, its version, and how long it has been up.",
        read=read,
    )


def build_config_resource(settings: Mapping[str, Any]) -> Resource:
    """Build the resource `config://server`; `settings` must not contain secrets."""

    async def read() -> str:
        return json.dumps(settings, indent=2)

    return Resource(
        uri="config://server",
        name="configuration",
        title="Configuration",
        description="Every setting in force and where it comes from; secrets are masked.",
        read=read,
    )
