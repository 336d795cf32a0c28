"""Which era of the protocol a request over HTTP belongs to, and the connection that serves it.

Clients up to 2025-11-25 shake hands once and then only name their version. Since 2026-07-28 every
request carries its version and the client's capabilities, and repeats what it is about in headers.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.shared.inbound import (
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
    validate_mcp_param_headers,
)
from mcp_types import DEFAULT_NEGOTIATED_VERSION, HEADER_MISMATCH, JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers

from junto.transport.messages import Fault


def is_modern(headers: Headers) -> bool:
    """Tell whether a request names a version without handshakes, or one that does not exist."""
    versions = headers.getlist(MCP_PROTOCOL_VERSION_HEADER)
    return any(version not in HANDSHAKE_PROTOCOL_VERSIONS for version in versions)


def version_fault(headers: Headers) -> Fault | None:
    """Say what is wrong with the version that a modern notification names."""
    named = headers.get(MCP_PROTOCOL_VERSION_HEADER, "")
    return _fault(unsupported_protocol_version_rejection(named), None)


def connection_for(
    asked: JSONRPCRequest, headers: Headers, server: Server[Any]
) -> Connection | Fault:
    """Return the connection that serves one request, which nothing outlives."""
    if not is_modern(headers):
        version = headers.get(MCP_PROTOCOL_VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
        return Connection.from_envelope(version, None, None)
    if twice := find_duplicated_routing_header(headers.items()):
        return Fault(HEADER_MISMATCH, f"{twice} header appears more than once", asked.id)
    route = classify_inbound_request(
        {"method": asked.method, "params": asked.params}, headers=dict(headers)
    )
    if isinstance(route, InboundLadderRejection):
        if fault := version_fault(headers):
            return replace(fault, request_id=asked.id)
        return Fault(route.code, route.message, asked.id, route.data)
    if fault := _repeated_arguments_fault(asked, headers, server):
        return fault
    return Connection.from_envelope(
        route.protocol_version, route.client_info, route.client_capabilities
    )


def _repeated_arguments_fault(
    asked: JSONRPCRequest, headers: Headers, server: Server[Any]
) -> Fault | None:
    """Say which argument of a call differs from the header that repeats it."""
    params = asked.params or {}
    name, arguments = params.get("name"), params.get("arguments") or {}
    if (
        asked.method != "tools/call"
        or not isinstance(name, str)
        or not server.get_tool_input_schema
    ):
        return None
    schema = server.get_tool_input_schema(name)
    if schema is None or not isinstance(arguments, Mapping):
        return None
    return _fault(validate_mcp_param_headers(schema, arguments, headers), asked.id)


def _fault(rejection: InboundLadderRejection | None, request_id: int | str | None) -> Fault | None:
    if rejection is None:
        return None
    return Fault(rejection.code, rejection.message, request_id, rejection.data)
