"""Protocol version handling of HTTP requests.

Versions up to 2025-11-25 start with a handshake, and later requests only name the version in a
header. From 2026-07-28 on ("modern"), every request carries its version and the client's
capabilities, and repeats its method, name and marked arguments in headers.
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

from junto.transport.messages import ErrorReply


def is_modern(headers: Headers) -> bool:
    """Return whether a request names a version without a handshake, or an unknown one."""
    versions = headers.getlist(MCP_PROTOCOL_VERSION_HEADER)
    return any(version not in HANDSHAKE_PROTOCOL_VERSIONS for version in versions)


def check_version(headers: Headers) -> ErrorReply | None:
    """Return an error if the version in the headers of a modern message is not supported."""
    version = headers.get(MCP_PROTOCOL_VERSION_HEADER, "")
    return _to_error_reply(unsupported_protocol_version_rejection(version), None)


def build_connection(
    message: JSONRPCRequest, headers: Headers, server: Server[Any]
) -> Connection | ErrorReply:
    """Return a connection for this one request, or an error if its headers are invalid."""
    if not is_modern(headers):
        version = headers.get(MCP_PROTOCOL_VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
        return Connection.from_envelope(version, None, None)
    if duplicate := find_duplicated_routing_header(headers.items()):
        return ErrorReply(HEADER_MISMATCH, f"{duplicate} header appears more than once", message.id)
    route = classify_inbound_request(
        {"method": message.method, "params": message.params}, headers=dict(headers)
    )
    if isinstance(route, InboundLadderRejection):
        if error := check_version(headers):
            return replace(error, request_id=message.id)
        return ErrorReply(route.code, route.message, message.id, route.data)
    if error := _check_repeated_arguments(message, headers, server):
        return error
    return Connection.from_envelope(
        route.protocol_version, route.client_info, route.client_capabilities
    )


def _check_repeated_arguments(
    message: JSONRPCRequest, headers: Headers, server: Server[Any]
) -> ErrorReply | None:
    """Return an error if an argument of a call differs from the header that repeats it."""
    params = message.params or {}
    name, arguments = params.get("name"), params.get("arguments") or {}
    if (
        message.method != "tools/call"
        or not isinstance(name, str)
        or not server.get_tool_input_schema
    ):
        return None
    schema = server.get_tool_input_schema(name)
    if schema is None or not isinstance(arguments, Mapping):
        return None
    return _to_error_reply(validate_mcp_param_headers(schema, arguments, headers), message.id)


def _to_error_reply(
    rejection: InboundLadderRejection | None, request_id: int | str | None
) -> ErrorReply | None:
    if rejection is None:
        return None
    return ErrorReply(rejection.code, rejection.message, request_id, rejection.data)
