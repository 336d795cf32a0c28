"""What a codec gives and takes: a question as JSON, and events folded into an answer."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from junto.domain.errors import JuntoError
from junto.domain.models import Capabilities
from junto.domain.questions import Event, Question

Json = dict[str, Any]

_MOST_SHOWN = 1000


def tool_arguments(text: str) -> Json:
    """Return the arguments that a model wrote for a tool.

    What is no object goes on under a name that no tool takes: the tool refuses it, and the model is
    told so and can do better.
    """
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        arguments = None
    return arguments if isinstance(arguments, dict) else {"invalid": text[:_MOST_SHOWN]}


class Fold(Protocol):
    """Takes a provider's events one by one and knows the answer at the end."""

    def feed(self, event: Mapping[str, Any]) -> Iterable[Event]:
        """Return what is new for the listener.

        Raises:
            JuntoError: the provider says that it failed.
        """
        ...

    def ended(self) -> Iterable[Event]:
        """Return what is left to tell when the stream has ended: the answer comes last.

        Raises:
            NetworkError: the provider had not said all; the stream was cut.
        """
        ...


class Codec(Protocol):
    """One dialect of asking: pure, without any I/O."""

    def encode(self, question: Question, capabilities: Capabilities) -> Json:
        """Return the body of the request."""
        ...

    def fold(self, question: Question) -> Fold:
        """Return a new fold for the answer to `question`."""
        ...

    def error(self, status: int, body: bytes, retry_after: float | None) -> JuntoError:
        """Return the failure that a status other than 200 stands for."""
        ...
