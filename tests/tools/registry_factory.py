"""What the tests of tools share: a call without a client, and a registry without a server."""

from typing import Any, cast

from mcp_types import CallToolRequestParams

from junto.security.secrets import Redactor
from junto.telemetry.metrics import Metrics
from junto.tools.guard import Guard
from junto.tools.registry import Registry
from junto.tools.tool import Call, Tool


class NoSession:
    """A client that has declared nothing."""

    client_capabilities = None


class NoContext:
    """Stands where the SDK's context would."""

    meta = None
    session = NoSession()


def call(name: str, **arguments: Any) -> Call:
    params = CallToolRequestParams(name=name, arguments=arguments)
    return Call(context=cast("Any", NoContext()), params=params)


def registry(*tools: Tool[Any], metrics: Metrics | None = None, **options: Any) -> Registry:
    return Registry(
        tools, guard=Guard(metrics or Metrics(), Redactor(["planted-secret"])), **options
    )
