"""What is known about a model that can be asked."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model as its users see it: never its key or its address."""

    id: str
    provider: str
    description: str | None = None
    context_window: int | None = None
    default: bool = False
