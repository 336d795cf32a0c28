"""What the tests of tools share: a call without a client, and a registry without a server."""

from typing import Any, cast

from mcp_types import CallToolRequestParams
from prometheus_client import CollectorRegistry

from junto.security.secrets import Redactor
from junto.telemetry.metrics import ToolMetrics
from junto.tools.guard import Guard
from junto.tools.registry import Registry
from junto.tools.tool import Call, Tool


class NoContext:
    """Stands where the SDK's context would."""

    meta = None


def call(name: str, **arguments: Any) -> Call:
    params = CallToolRequestParams(name=name, arguments=arguments)
    return Call(context=cast("Any", NoContext()), params=params)


def registry(*tools: Tool[Any], metrics: ToolMetrics | None = None, **options: Any) -> Registry:
    metrics = metrics or ToolMetrics.on(CollectorRegistry())
    return Registry(tools, guard=Guard(metrics, Redactor(["planted-secret"])), **options)
