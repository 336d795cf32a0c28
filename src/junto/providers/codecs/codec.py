"""The codec protocol, and the parsing of tool arguments and errors that codecs share."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from junto.domain.completions import Event, Question
from junto.domain.errors import (
    AuthenticationError,
    ContextOverflowError,
    InvalidInputError,
    JuntoError,
    ModelError,
    NetworkError,
    NotFoundError,
    RateLimitedError,
    TimeLimitError,
)
from junto.domain.models import Capabilities

Json = dict[str, Any]

_MAX_INVALID_CHARS = 1000
_MAX_MESSAGE_CHARS = 300
_CONTEXT_OVERFLOW_PATTERN = re.compile(
    r"(?:prompt|input) is too long|context[ _]length|context window|maximum context|too many tokens"
    r"|exceeds? the (?:available )?context|input length and .max_tokens. exceed",
    re.IGNORECASE,
)


class StreamDecoder(Protocol):
    """A decoder that turns one response stream into events; the last one is the answer."""

    def feed(self, event: Mapping[str, Any]) -> Iterable[Event]:
        """Decode one provider event.

        Raises:
            JuntoError: the provider reports an error.
        """
        ...

    def finish(self) -> Iterable[Event]:
        """Return the remaining events when the stream has ended; the last one is the answer.

        Raises:
            NetworkError: the stream ended before the answer was complete.
            ModelError: the answer is empty.
        """
        ...


class Codec(Protocol):
    """A translator between our questions and answers and one provider API. Does no I/O."""

    def encode(self, question: Question, capabilities: Capabilities) -> Json:
        """Return the body of the request."""
        ...

    def create_decoder(self, question: Question) -> StreamDecoder:
        """Return a new decoder for the answer to `question`."""
        ...

    def decode_error(self, status: int, body: bytes, retry_after: float | None) -> JuntoError:
        """Return the error for a response with a status other than 200."""
        ...


def require_text(value: Any) -> str:
    """Return `value`, which must be text.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(value, str):
        raise TypeError(f"text expected, not {type(value).__name__}")
    return value


def parse_tool_arguments(text: str) -> Json:
    """Parse the arguments that a model wrote for a tool call.

    Anything but a JSON object is returned under the key `invalid`, which no tool accepts: the tool
    rejects the call, and the model sees the error and can correct itself.
    """
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        arguments = None
    return arguments if isinstance(arguments, dict) else {"invalid": text[:_MAX_INVALID_CHARS]}


def error_from_status(
    provider: str, status: int, message: str, retry_after: float | None = None
) -> JuntoError:
    """Return the error for an HTTP status; `message` is the provider's own error message."""
    sentence = message[:_MAX_MESSAGE_CHARS].rstrip(" .")
    reason = f"{provider} says: {sentence}." if sentence else f"{provider} answered {status}."
    if status in (401, 403):
        return AuthenticationError(f"{reason} Check the key that is configured for {provider}.")
    if status == 404:  # noqa: PLR2004 - HTTP status
        return NotFoundError(f"{reason} `list_models` shows which models there are.")
    if status == 429:  # noqa: PLR2004
        return RateLimitedError(reason, retry_after=retry_after)
    if status in (408, 504):
        return TimeLimitError(reason, retry_after=retry_after)
    if status == 413 or _CONTEXT_OVERFLOW_PATTERN.search(message):  # noqa: PLR2004
        return ContextOverflowError(f"{reason} Send less, or choose a model with a larger window.")
    if status >= 500:  # noqa: PLR2004 - includes Anthropic's 529, overloaded
        return NetworkError(reason, retry_after=retry_after)
    if status >= 400:  # noqa: PLR2004
        return InvalidInputError(reason, retryable=status == 409)  # noqa: PLR2004 - conflict
    return ModelError(reason)
