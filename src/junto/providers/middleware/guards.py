"""Checks before a question is sent: moderation, redaction, and the model's capabilities."""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Protocol

from typing_extensions import override

from junto.domain.completions import Event, Question
from junto.domain.errors import InvalidInputError, NetworkError, PermissionDeniedError
from junto.domain.messages import DocumentPart, ImagePart, Message, Part, Role, TextPart, ToolResult
from junto.domain.models import Capabilities
from junto.providers.provider import Provider

_HTTP_OK = 200
_MODERATION_TIMEOUT_SECONDS = 15.0
_MAX_VERDICT_BYTES = 64 * 1024
_MAX_MODERATED_CHARS = 30_000


class Moderator(Protocol):
    """A service that checks texts against rules."""

    async def find_violations(self, text: str) -> tuple[str, ...]:
        """Return the rules that a text violates.

        Raises:
            NetworkError: the text could not be checked.
        """
        ...


@dataclass(frozen=True, slots=True)
class ModerationEndpoint(Moderator):
    """An OpenAI-compatible moderation endpoint."""

    url: str
    api_key: str | None = None
    model: str | None = None

    @override
    async def find_violations(self, text: str) -> tuple[str, ...]:
        import aiohttp  # only needed with moderation

        from junto.providers.http.client import read_body

        body = {"input": text, **({"model": self.model} if self.model else {})}
        headers = {"authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        client_timeout = aiohttp.ClientTimeout(total=_MODERATION_TIMEOUT_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=client_timeout, headers=headers) as session,
                session.post(self.url, json=body, allow_redirects=False) as response,
            ):
                if response.status != _HTTP_OK:
                    raise NetworkError(f"The moderation endpoint answered {response.status}.")
                content = await read_body(response, _MAX_VERDICT_BYTES)
                return _parse_violations(json.loads(content))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise NetworkError(
                f"The moderation endpoint could not be asked ({type(error).__name__}), so the "
                "question was not sent."
            ) from None


def _parse_violations(verdict: Any) -> tuple[str, ...]:
    match verdict:
        case {"results": [{"flagged": False}, *_]}:
            return ()
        case {"results": [{"flagged": True, "categories": dict(categories)}, *_]}:
            return tuple(name for name, violated in categories.items() if violated) or ("flagged",)
        case {"results": [{"flagged": True}, *_]}:
            return ("flagged",)
        case _:
            raise ValueError("no verdict")


async def require_clearance(moderator: Moderator, text: str) -> None:
    """Check a text, of which a very long one only at its end.

    Raises:
        PermissionDeniedError: the text violates a rule.
        NetworkError: the text could not be checked.
    """
    violations = await moderator.find_violations(text[-_MAX_MODERATED_CHARS:])
    if violations:
        raise PermissionDeniedError(
            f"The question was not sent: moderation found {', '.join(violations)}. "
            "Say it otherwise."
        )


@dataclass(frozen=True, slots=True)
class PromptGuard:
    """The guards for prompts that reach a model by another way than a provider."""

    moderator: Moderator | None = None
    redact: Callable[[str], str] | None = None

    async def check(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Return the texts of a prompt as they may be sent: redacted, then cleared.

        Raises:
            PermissionDeniedError: the prompt violates a rule.
            NetworkError: the prompt could not be checked.
        """
        redacted = tuple(self.redact(text) if self.redact else text for text in texts)
        if self.moderator:
            await require_clearance(self.moderator, "\n".join(redacted))
        return redacted


@dataclass(frozen=True, slots=True)
class Moderated(Provider):
    """A provider that asks only what passes moderation; without a verdict, nothing is sent."""

    inner: Provider
    moderator: Moderator

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        user_texts = [message.text for message in question.messages if message.role is Role.USER]
        await require_clearance(self.moderator, user_texts[-1] if user_texts else "")
        async with aclosing(self.inner.stream(question)) as events:
            async for event in events:
                yield event


@dataclass(frozen=True, slots=True)
class Redacted(Provider):
    """A provider that applies `redact` to all texts of a question."""

    inner: Provider
    redact: Callable[[str], str]

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        messages = tuple(
            Message(message.role, tuple(self._redact_part(part) for part in message.parts))
            for message in question.messages
        )
        system = None if question.system is None else self.redact(question.system)
        redacted = replace(question, messages=messages, system=system)
        async with aclosing(self.inner.stream(redacted)) as events:
            async for event in events:
                yield event

    def _redact_part(self, part: Part) -> Part:
        match part:
            case TextPart(text):
                return TextPart(self.redact(text))
            case ToolResult(call_id, content, is_error):
                pieces = tuple(
                    TextPart(self.redact(piece.text)) if isinstance(piece, TextPart) else piece
                    for piece in content
                )
                return ToolResult(call_id, pieces, is_error)
            case _:
                return part


@dataclass(frozen=True, slots=True)
class CapabilityChecked(Provider):
    """A provider that rejects questions with content that the model does not support."""

    inner: Provider
    capabilities: Capabilities
    model_id: str

    @override
    def stream(self, question: Question) -> AsyncGenerator[Event]:
        if problem := _find_unsupported(question, self.capabilities):
            raise InvalidInputError(
                f"{self.model_id} takes no {problem}. `list_models` shows which models do."
            )
        return self.inner.stream(question)


def _find_unsupported(question: Question, capabilities: Capabilities) -> str | None:
    if question.tools and not capabilities.tools:
        return "tools"
    if capabilities.max_schema_chars is not None and question.schema is not None:
        size = len(json.dumps(question.schema, default=str))
        if size > capabilities.max_schema_chars:
            return f"schema of {size:,} characters; at most {capabilities.max_schema_chars:,}"
    if capabilities.images and capabilities.documents:
        return None
    for message in question.messages:
        for part in message.parts:
            if not capabilities.images and _has_image(part):
                return "images"
            if not capabilities.documents and isinstance(part, DocumentPart):
                return "documents"
    return None


def _has_image(part: Part) -> bool:
    if isinstance(part, ToolResult):
        return any(isinstance(piece, ImagePart) for piece in part.content)
    return isinstance(part, ImagePart)
