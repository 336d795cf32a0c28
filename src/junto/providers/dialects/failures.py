"""What a provider's refusal means to us: its status and words as one of our errors."""

import re

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

_SHOWN = 300
_TOO_LONG = re.compile(
    r"(?:prompt|input) is too long|context[ _]length|context window|maximum context|too many tokens"
    r"|exceeds? the (?:available )?context|input length and .max_tokens. exceed",
    re.IGNORECASE,
)


def failure(
    provider: str, status: int, message: str, retry_after: float | None = None
) -> JuntoError:
    """Return the error for an answer with `status`; `message` is the provider's own sentence."""
    sentence = message[:_SHOWN].rstrip(" .")
    said = f"{provider} says: {sentence}." if sentence else f"{provider} answered {status}."
    if status in (401, 403):
        return AuthenticationError(f"{said} Check the key that is configured for {provider}.")
    if status == 404:  # noqa: PLR2004 - HTTP's own number
        return NotFoundError(f"{said} `list_models` shows which models there are.")
    if status == 429:  # noqa: PLR2004
        return RateLimitedError(said, retry_after=retry_after)
    if status in (408, 504):
        return TimeLimitError(said, retry_after=retry_after)
    if status == 413 or _TOO_LONG.search(message):  # noqa: PLR2004
        return ContextOverflowError(f"{said} Send less, or choose a model with a larger window.")
    if status >= 500:  # noqa: PLR2004 - Anthropic's 529, overloaded, among them
        return NetworkError(said, retry_after=retry_after)
    if status >= 400:  # noqa: PLR2004
        return InvalidInputError(said, retryable=status == 409)  # noqa: PLR2004 - a conflict
    return ModelError(said)
