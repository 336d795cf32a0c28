"""Asking the client of a call something, in the words of either era of the protocol."""

from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CreateMessageRequest,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    Result,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from junto.domain.ids import new_id
from junto.tools.tasks import takes_tasks
from junto.tools.tool import Call

R = TypeVar("R", bound=Result)

_CHOICE = {
    "type": "object",
    "properties": {
        "answer": {
            "type": "string",
            "title": "May it?",
            "enum": ["once", "always", "denied"],
            "enumNames": ["Yes, this once", "Yes, always in this run", "No"],
        }
    },
    "required": ["answer"],
}


def is_modern(context: ServerRequestContext[Any, Any]) -> bool:
    """Tell whether a client is asked by an answer to its request, and not by one of ours."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


async def asked(call: Call, request: CreateMessageRequest | ElicitRequest, result: type[R]) -> R:
    """Ask the client, and wait for its answer.

    Raises:
        MCPError: it would not.
        ValidationError: its answer is in no known form.
    """
    if is_modern(call.context):
        plain = request.model_dump(mode="json", by_alias=True, exclude_none=True)
        given = await call.work.asks(f"{request.method.partition('/')[0]}-{new_id()[:8]}", plain)
        return result.model_validate(given)
    return await call.context.session.send_request(
        request,
        result,
        metadata=ServerMessageMetadata(related_request_id=call.context.request_id),
    )


def can_choose(call: Call) -> bool:
    """Tell whether the client of a call lets us ask its user something, and can be reached."""
    can = call.context.session.client_capabilities
    if can is None or can.elicitation is None:
        return False
    if can.elicitation.url is not None and can.elicitation.form is None:
        return False
    if call.work.job.detached and not takes_tasks(call.context):
        return False  # whoever asked for it has gone on
    return is_modern(call.context) or call.context.session.can_send_request


async def chosen(call: Call, question: str) -> str:
    """Ask the client's user whether something may be done: once, always, or not.

    Raises:
        MCPError: the client would not ask.
        ValidationError: its answer is in no known form.
    """
    params = ElicitRequestFormParams(message=question, requested_schema=_CHOICE)
    answer = await asked(call, ElicitRequest(params=params), ElicitResult)
    if answer.action != "accept":
        return "denied"
    return str((answer.content or {}).get("answer", "denied"))
