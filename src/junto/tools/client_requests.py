"""Asking the client's own model, in the words of either era of the protocol."""

import asyncio
import base64
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ImageContent,
    SamplingMessage,
    TextContent,
)
from pydantic import ValidationError

from junto.domain.errors import ModelError, PermissionDeniedError, TimeLimitError
from junto.domain.messages import Image, Message, Part, Text
from junto.domain.questions import Answer, Question, StopReason, Usage
from junto.providers.client import Sampler
from junto.tools.asking import asked, is_modern
from junto.tools.tool import Call

# A person may have to agree, and read first what is asked.
_SECONDS = 600.0
_STOPS = {"maxTokens": StopReason.LENGTH}


def lends_model(context: ServerRequestContext[Any, Any]) -> bool:
    """Tell whether the client of a request lets us ask its model, and there is a way to."""
    can = context.session.client_capabilities
    if can is None or can.sampling is None:
        return False
    return is_modern(context) or context.session.can_send_request


def client_model(call: Call) -> Sampler | None:
    """Return the way to the model of the client that made a call, if it lends one."""
    if not lends_model(call.context):
        return None

    async def sample(question: Question) -> Answer:
        request = _request(question)
        try:
            async with asyncio.timeout(_SECONDS):
                result = await asked(call, request, CreateMessageResult)
        except TimeoutError:
            raise TimeLimitError("The client's model gave no answer in ten minutes.") from None
        except MCPError as error:
            raise PermissionDeniedError(
                f"The client did not ask its model: {error.message}"
            ) from None
        except ValidationError:
            raise ModelError("The client's model gave an answer in no known form.") from None
        return _answer(result)

    return sample


def _request(question: Question) -> CreateMessageRequest:
    # One message for each part: clients of older versions take no lists.
    messages = [
        SamplingMessage(role=message.role.value, content=block)
        for message in question.messages
        for part in message.parts
        if (block := _block(part))
    ]
    return CreateMessageRequest(
        params=CreateMessageRequestParams(
            messages=messages,
            system_prompt=question.system,
            max_tokens=question.max_tokens,
            temperature=question.temperature,
        )
    )


def _block(part: Part) -> TextContent | ImageContent | None:
    match part:
        case Text(text):
            return TextContent(text=text)
        case Image(mime_type, data):
            return ImageContent(data=base64.b64encode(data).decode(), mime_type=mime_type)
        case _:
            return None  # thoughts and tools are another model's business


def _answer(result: CreateMessageResult) -> Answer:
    if not isinstance(result.content, TextContent) or not result.content.text:
        raise ModelError("The client's model gave no words.")
    return Answer(
        message=Message.assistant(result.content.text),
        stop=_STOPS.get(result.stop_reason or "", StopReason.END),
        usage=Usage(),  # the client does not say
        model="client",
    )
