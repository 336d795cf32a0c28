"""Build a registry without a server, and call its tools without a client."""

from typing import Any, cast

from mcp_types import CallToolRequestParams

from junto.security.redaction import Redactor
from junto.telemetry.metrics import Metrics
from junto.tools.middleware import CallServices
from junto.tools.registry import Registry
from junto.tools.tool import Tool


class FakeSession:
    """A client that declares no capabilities."""

    client_capabilities = None


class FakeContext:
    """Takes the place of the SDK's request context."""

    meta = None
    session = FakeSession()


async def call_tool(registry: Registry, name: str, **arguments: Any) -> Any:
    """Call a tool as the SDK's handler does, for a client that declares no capabilities."""
    params = CallToolRequestParams(name=name, arguments=arguments)
    return await registry.handle(registry.build_call(cast("Any", FakeContext()), params))


def build_registry(*tools: Tool[Any], metrics: Metrics | None = None, **options: Any) -> Registry:
    services = CallServices(metrics=metrics or Metrics(), redactor=Redactor(["planted-secret"]))
    return Registry(tools, services=services, **options)
