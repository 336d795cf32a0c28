"""All errors that Junto raises on purpose, as one class tree.

    JuntoError
    ├── ConfigurationError         the operator must change a setting; ends the program, exit 2
    ├── SecurityError              a security rule forbids a path, command or URL
    ├── NotFoundError              the requested item does not exist
    ├── PermissionDeniedError      it exists, but this caller has no access
    ├── InputOutputError           a file or database operation failed
    ├── ExecutionError             a command or an agent ran and failed
    ├── TimeLimitError             a time limit was exceeded
    ├── NetworkError               the remote side could not be reached
    ├── InvalidInputError          the arguments are invalid
    ├── RateLimitedError           too many requests or tokens
    │   └── CapacityExceededError  one of Junto's own limits, after waiting for capacity
    ├── AuthenticationError        the API key is missing or was rejected
    ├── ContextOverflowError       the conversation exceeds the model's context window
    ├── BudgetExceededError        the budget is spent
    ├── ModelError                 the model's answer is unusable
    └── CancelledCallError         the call was cancelled

Each class has the error code that a caller sees. Any other exception is a bug: the caller gets one
generic line, and the log gets the traceback.
"""

from collections.abc import Mapping
from typing import Any, ClassVar


class JuntoError(Exception):
    """An expected failure: a message that says what to do next, and details for programs."""

    code: ClassVar[str] = "ExecutionError"
    default_retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        retryable: bool | None = None,
        retry_after: float | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        # Additional facts, such as how much was done before the failure.
        self.details = details or {}
        self.retryable = self.default_retryable if retryable is None else retryable
        self.retry_after = retry_after


class ConfigurationError(JuntoError):
    """The configuration is wrong or incomplete."""

    code = "ConfigurationError"


class SecurityError(JuntoError):
    """A security rule forbids a path, command or URL."""

    code = "SecurityError"


class NotFoundError(JuntoError):
    """The requested item does not exist."""

    code = "NotFound"


class PermissionDeniedError(JuntoError):
    """The requested item exists, but the caller has no access to it."""

    code = "PermissionDenied"


class InputOutputError(JuntoError):
    """A file or database operation failed."""

    code = "IOError"


class ExecutionError(JuntoError):
    """A command or an agent ran and failed."""

    code = "ExecutionError"


class TimeLimitError(JuntoError):
    """A time limit was exceeded."""

    code = "TimeoutError"
    default_retryable = True


class NetworkError(JuntoError):
    """The remote side could not be reached, or closed the connection."""

    code = "NetworkError"
    default_retryable = True


class InvalidInputError(JuntoError):
    """The arguments are invalid; the message names each one and what it accepts."""

    code = "ValidationError"


class RateLimitedError(JuntoError):
    """Too many requests or tokens; `retryAfter` says when to retry, if known."""

    code = "RateLimited"
    default_retryable = True


class CapacityExceededError(RateLimitedError):
    """One of Junto's own limits is reached, and waiting for capacity did not help."""


class AuthenticationError(JuntoError):
    """The API key is missing or was rejected."""

    code = "AuthenticationFailed"


class ContextOverflowError(JuntoError):
    """The conversation exceeds the model's context window."""

    code = "ContextOverflow"


class BudgetExceededError(JuntoError):
    """The call would cost more than the remaining budget."""

    code = "BudgetExceeded"


class ModelError(JuntoError):
    """The model's answer is unusable."""

    code = "ModelError"


class CancelledCallError(JuntoError):
    """The call was cancelled before it was done."""

    code = "Cancelled"
