"""Constants, requests and results that the conformance fixtures share."""

from typing import Any, TypeVar

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

Context = ServerRequestContext[Any, Any]
Schema = dict[str, Any]
T = TypeVar("T")

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8"
    "z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="

ELICITATION = types.ClientCapabilities(elicitation=types.ElicitationCapability())
SAMPLING = types.ClientCapabilities(sampling=types.SamplingCapability())
ROOTS = types.ClientCapabilities(roots=types.RootsCapability())


def text_result(value: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=value)])


def embed_text(uri: str, mime_type: str, value: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(
        resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=value)
    )


def require_capability(context: Context, needed: types.ClientCapabilities) -> None:
    """Refuse with -32021 unless the client declared `needed`."""
    if context.session.check_client_capability(needed):
        return
    data = types.MissingRequiredClientCapabilityErrorData(required_capabilities=needed)
    raise MCPError(
        types.MISSING_REQUIRED_CLIENT_CAPABILITY,
        "Missing required client capability",
        data.model_dump(by_alias=True, mode="json", exclude_none=True),
    )


def object_schema(required: list[str] | None = None, **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    return schema | {"required": required} if required else schema


def form_request(message: str, field: str, kind: str = "string") -> types.ElicitRequest:
    schema = object_schema([field], **{field: {"type": kind}})
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=schema)
    )


def sampling_request(question: str, max_tokens: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=question))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


def response_text(result: types.CreateMessageResult) -> str:
    return result.content.text if isinstance(result.content, types.TextContent) else "No text"


def ask(state: str | None = None, /, **requests: types.InputRequest) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests, request_state=state)


def find_response(params: types.InputResponseRequestParams, key: str, kind: type[T]) -> T | None:
    """Return the client's response to `key`, or None if it is missing or of another kind."""
    response = (params.input_responses or {}).get(key)
    return response if isinstance(response, kind) else None


def find_form_field(params: types.InputResponseRequestParams, key: str, field: str) -> Any:
    """Return a field of an accepted form, or None if the client has not been asked yet."""
    response = find_response(params, key, types.ElicitResult)
    return response.content.get(field) if response and response.content else None
