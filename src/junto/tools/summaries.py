"""Conversations, models and search results as they are shown in lists, by tools and by commands."""

from datetime import UTC, datetime

from typing_extensions import override

from junto.domain.conversations import Conversation
from junto.domain.models import Model
from junto.knowledge.documents import format_page_id
from junto.knowledge.search import Hit
from junto.tools.base import Result


def format_time(timestamp: float) -> str:
    """Return a Unix timestamp as ISO 8601 in UTC."""
    return datetime.fromtimestamp(timestamp, UTC).isoformat(timespec="seconds")


class ConversationSummary(Result):
    """One conversation in a list."""

    id: str
    title: str
    models: list[str]
    messages: int
    updated: str

    @classmethod
    def from_conversation(cls, conversation: Conversation) -> "ConversationSummary":
        """Return the summary of `conversation`."""
        return cls(
            id=conversation.id,
            title=conversation.title,
            models=list(conversation.models),
            messages=conversation.length,
            updated=format_time(conversation.updated),
        )

    @override
    def text(self) -> str:
        """Return the conversation as one line of a list."""
        models = ", ".join(self.models)
        return f"- {self.id} {self.title} ({self.messages} messages, {models}, {self.updated})"


class ModelPrice(Result):
    """The price per million tokens, in US dollars."""

    input: float
    output: float


class ModelDescription(Result):
    """One model in the result of `list_models`."""

    id: str
    provider: str
    description: str | None = None
    context_window: int | None = None
    price: ModelPrice | None = None
    capabilities: list[str]
    default: bool = False

    @classmethod
    def from_model(cls, model: Model) -> "ModelDescription":
        """Return the public description of `model`."""
        price = model.price
        return cls(
            id=model.id,
            provider=model.provider,
            description=model.description,
            context_window=model.context_window,
            price=ModelPrice(input=float(price.input), output=float(price.output))
            if price
            else None,
            capabilities=model.capabilities.names(),
            default=model.is_default,
        )

    @override
    def text(self) -> str:
        """Return the model as one line of a list."""
        details = [self.provider]
        details += [f"{self.context_window:,} tokens"] if self.context_window else []
        details += [f"${self.price.input:g}/${self.price.output:g}"] if self.price else []
        details += self.capabilities
        details += ["default"] if self.default else []
        description = f": {self.description}" if self.description else ""
        return f"- {self.id} ({', '.join(details)}){description}"


class SearchHit(Result):
    """One search result: a document and the passage that matches."""

    id: str
    title: str
    url: str
    score: float
    snippet: str
    source: str
    type: str
    modified: str
    trust: str | None = None

    @classmethod
    def from_hit(cls, hit: Hit) -> "SearchHit":
        """Return the result for `hit`; its id is that of the page with the passage."""
        document = hit.document
        path = " > ".join(step for step in hit.passage.headings if step != document.title)
        return cls(
            id=format_page_id(document, hit.passage.start),
            title=f"{document.title} ({path})" if path else document.title,
            url=document.url,
            score=hit.score,
            snippet=hit.snippet,
            source=document.source,
            type=document.kind,
            modified=format_time(document.modified),
            trust=None if hit.trust == "normal" else hit.trust,
        )

    @override
    def text(self) -> str:
        """Return a line with title, id and URL, then the passage.

        The passage is indented, so that it cannot imitate the first line of a result.
        """
        return f"{self.title} [{self.id}] {self.url}\n  {self.snippet}"


class HistoryHit(Result):
    """One message that matches a search."""

    conversation_id: str
    title: str
    position: int
    role: str
    snippet: str
    score: float
    at: str

    @classmethod
    def from_hit(cls, hit: Hit) -> "HistoryHit":
        """Return the result for `hit`."""
        return cls(
            conversation_id=hit.passage.conversation or "",
            title=hit.document.title,
            position=hit.passage.position or 0,
            role=hit.passage.role or "",
            snippet=hit.snippet,
            score=hit.score,
            at=format_time(hit.document.modified),
        )
