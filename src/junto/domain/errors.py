"""Every failure that Junto foresees, as one tree.

    JuntoError
    ├── ConfigurationError      the operator must change a setting; ends the program, exit 2
    ├── SecurityError           a rule of the house was broken: path, command, address
    ├── NotFoundError           there is no such thing
    ├── PermissionDeniedError   it exists, but not for this caller
    ├── InputOutputError        the disk or the database would not
    ├── ExecutionError          a command or an agent ran and failed
    ├── TimeLimitError          it took too long
    ├── NetworkError            the other side was not reached
    ├── InvalidInputError       the arguments make no sense
    ├── RateLimitedError        too many, too fast
    │   └── NoRoomError         by our own limits, after waiting for room
    ├── AuthenticationError     the key was not accepted
    ├── ContextOverflowError    more text than the model can hold
    ├── BudgetExceededError     the money is spent
    ├── ModelError              the model answered with something unusable
    └── CancelledCallError      somebody stopped it

Each class carries the code that a caller sees. What is not in this tree is a bug: it reaches the
caller as one generic line and the log as a traceback.
"""

from collections.abc import Mapping
from typing import Any, ClassVar


class JuntoError(Exception):
    """A foreseen failure: a sentence that says what to do next, and facts for programs."""

    code: ClassVar[str] = "ExecutionError"
    retryable_by_nature: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        retryable: bool | None = None,
        retry_after: float | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        # What else a caller may want to know, such as how much was done before it failed.
        self.facts = facts or {}
        self.retryable = self.retryable_by_nature if retryable is None else retryable
        self.retry_after = retry_after


class ConfigurationError(JuntoError):
    """The configuration must change before Junto can do this."""

    code = "ConfigurationError"


class SecurityError(JuntoError):
    """A path, command or address that should not pass did not."""

    code = "SecurityError"


class NotFoundError(JuntoError):
    """There is no such thing."""

    code = "NotFound"


class PermissionDeniedError(JuntoError):
    """It exists, but this caller may not have it."""

    code = "PermissionDenied"


class InputOutputError(JuntoError):
    """Reading or writing failed."""

    code = "IOError"


class ExecutionError(JuntoError):
    """Something ran, and failed."""

    code = "ExecutionError"


class TimeLimitError(JuntoError):
    """It took longer than it may."""

    code = "TimeoutError"
    retryable_by_nature = True


class NetworkError(JuntoError):
    """The other side could not be reached, or hung up."""

    code = "NetworkError"
    retryable_by_nature = True


class InvalidInputError(JuntoError):
    """The arguments do not fit; the message names each one and what it takes."""

    code = "ValidationError"


class RateLimitedError(JuntoError):
    """Too many requests or tokens; the error says when there is room again."""

    code = "RateLimited"
    retryable_by_nature = True


class NoRoomError(RateLimitedError):
    """Our own limits are reached, and the call has waited for room as long as it may."""


class AuthenticationError(JuntoError):
    """The key was missing or not accepted."""

    code = "AuthenticationFailed"


class ContextOverflowError(JuntoError):
    """The conversation is longer than the model's window."""

    code = "ContextOverflow"


class BudgetExceededError(JuntoError):
    """The call would cost more than is left."""

    code = "BudgetExceeded"


class ModelError(JuntoError):
    """The model's answer cannot be used."""

    code = "ModelError"


class CancelledCallError(JuntoError):
    """The call was stopped before it was done."""

    code = "Cancelled"
