"""Requests to the client of a call: elicitation and sampling, in all protocol versions."""

import asyncio
import base64
from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    ImageContent,
    Result,
    SamplingMessage,
    TextContent,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from junto.domain.completions import Answer, Question, StopReason, Usage
from junto.domain.errors import ModelError, PermissionDeniedError, TimeLimitError
from junto.domain.ids import new_id
from junto.domain.messages import ImagePart, Message, Part, TextPart
from junto.providers.sampling import Sampler
from junto.tools.tasks import supports_tasks
from junto.tools.tool import CallContext

R = TypeVar("R", bound=Result)

_PERMISSION_SCHEMA = {
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
# A user may have to read and approve the request first.
_SAMPLING_TIMEOUT_SECONDS = 600.0
_STOP_REASONS = {"maxTokens": StopReason.LENGTH}


def is_modern(context: ServerRequestContext[Any, Any]) -> bool:
    """Return whether the client is asked by an `input_required` result instead of a request."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


async def send_client_request(
    call: CallContext, request: CreateMessageRequest | ElicitRequest, result_type: type[R]
) -> R:
    """Send a request to the client, and wait for its response.

    Raises:
        MCPError: the client refused the request.
        ValidationError: the response does not match `result_type`.
    """
    if is_modern(call.context):
        payload = request.model_dump(mode="json", by_alias=True, exclude_none=True)
        response = await call.job_handle.ask(
            f"{request.method.partition('/')[0]}-{new_id()[:8]}", payload
        )
        return result_type.model_validate(response)
    return await call.context.session.send_request(
        request,
        result_type,
        metadata=ServerMessageMetadata(related_request_id=call.context.request_id),
    )


def can_elicit(call: CallContext) -> bool:
    """Return whether the client supports form elicitation and can still be asked."""
    capabilities = call.context.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return False
    if capabilities.elicitation.url is not None and capabilities.elicitation.form is None:
        return False
    if call.job_handle.job.detached and not supports_tasks(call.context):
        return False  # the request was already answered with the job
    return is_modern(call.context) or call.context.session.can_send_request


async def elicit_permission(call: CallContext, question: str) -> str:
    """Ask the user for permission, and return "once", "always" or "denied".

    Raises:
        MCPError: the client refused to ask.
        ValidationError: the response of the client is invalid.
    """
    params = ElicitRequestFormParams(message=question, requested_schema=_PERMISSION_SCHEMA)
    answer = await send_client_request(call, ElicitRequest(params=params), ElicitResult)
    if answer.action != "accept":
        return "denied"
    return str((answer.content or {}).get("answer", "denied"))


def supports_sampling(context: ServerRequestContext[Any, Any]) -> bool:
    """Return whether the client supports sampling and can be sent a request."""
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        return False
    return is_modern(context) or context.session.can_send_request


def build_sampler(call: CallContext) -> Sampler | None:
    """Return a sampler that asks the model of the call's client, or None if it has no sampling."""
    if not supports_sampling(call.context):
        return None

    async def sample(question: Question) -> Answer:
        request = _build_request(question)
        try:
            async with asyncio.timeout(_SAMPLING_TIMEOUT_SECONDS):
                result = await send_client_request(call, request, CreateMessageResult)
        except TimeoutError:
            raise TimeLimitError("The client's model gave no answer in ten minutes.") from None
        except MCPError as error:
            raise PermissionDeniedError(
                f"The client did not ask its model: {error.message}"
            ) from None
        except ValidationError:
            raise ModelError("The client's model gave an answer in no known form.") from None
        return _parse_answer(result)

    return sample


def _build_request(question: Question) -> CreateMessageRequest:
    # One message per part, because older protocol versions do not allow lists of content.
    messages = [
        SamplingMessage(role=message.role.value, content=block)
        for message in question.messages
        for part in message.parts
        if (block := _to_content_block(part))
    ]
    return CreateMessageRequest(
        params=CreateMessageRequestParams(
            messages=messages,
            system_prompt=question.system,
            max_tokens=question.max_tokens,
            temperature=question.temperature,
        )
    )


def _to_content_block(part: Part) -> TextContent | ImageContent | None:
    match part:
        case TextPart(text):
            return TextContent(text=text)
        case ImagePart(mime_type, data):
            return ImageContent(data=base64.b64encode(data).decode(), mime_type=mime_type)
        case _:
            return None  # thinking and tool parts belong to another model


def _parse_answer(result: CreateMessageResult) -> Answer:
    if not isinstance(result.content, TextContent) or not result.content.text:
        raise ModelError("The client's model gave no words.")
    return Answer(
        message=Message.assistant(result.content.text),
        stop_reason=_STOP_REASONS.get(result.stop_reason or "", StopReason.END),
        usage=Usage(),  # clients do not report usage
        model="client",
    )
