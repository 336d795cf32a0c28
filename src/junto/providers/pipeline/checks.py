"""What a model cannot take is refused before it is asked."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from typing_extensions import override

from junto.domain.errors import InvalidInputError
from junto.domain.messages import Document, Image, Part, ToolResult
from junto.domain.models import Capabilities
from junto.domain.questions import Event, Question
from junto.providers.provider import Provider


@dataclass(frozen=True, slots=True)
class Checked(Provider):
    """Refuses questions with something in them that the model cannot see or use."""

    inner: Provider
    capabilities: Capabilities
    model_id: str

    @override
    def stream(self, question: Question) -> AsyncGenerator[Event]:
        if problem := _problem(question, self.capabilities):
            raise InvalidInputError(
                f"{self.model_id} takes no {problem}. `list_models` shows which models do."
            )
        return self.inner.stream(question)


def _problem(question: Question, can: Capabilities) -> str | None:
    if question.tools and not can.tools:
        return "tools"
    if can.largest_schema is not None and question.schema is not None:
        size = len(json.dumps(question.schema, default=str))
        if size > can.largest_schema:
            return f"schema of {size:,} characters; at most {can.largest_schema:,}"
    if can.images and can.documents:
        return None
    for message in question.messages:
        for part in message.parts:
            if not can.images and _pictures(part):
                return "images"
            if not can.documents and isinstance(part, Document):
                return "documents"
    return None


def _pictures(part: Part) -> bool:
    if isinstance(part, ToolResult):
        return any(isinstance(piece, Image) for piece in part.content)
    return isinstance(part, Image)
