"""Optional guards around every question: it is looked at, or cleaned, before it goes out."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Protocol

from typing_extensions import override

from junto.domain.errors import NetworkError, PermissionDeniedError
from junto.domain.messages import Message, Part, Role, Text, ToolResult
from junto.domain.questions import Event, Question
from junto.providers.provider import Provider

_HTTP_OK = 200
_SECONDS = 15.0
_MOST_CHARACTERS = 30_000


class Moderator(Protocol):
    """Says what is wrong with a text."""

    async def faults(self, text: str) -> tuple[str, ...]:
        """Return the rules that a text breaks.

        Raises:
            NetworkError: nobody could say.
        """
        ...


@dataclass(frozen=True, slots=True)
class Endpoint(Moderator):
    """A moderations endpoint as OpenAI has it."""

    url: str
    key: str | None = None
    model: str | None = None

    @override
    async def faults(self, text: str) -> tuple[str, ...]:
        import aiohttp  # for those who have it looked at

        body = {"input": text, **({"model": self.model} if self.model else {})}
        headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        patience = aiohttp.ClientTimeout(total=_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=patience, headers=headers) as session,
                session.post(self.url, json=body, allow_redirects=False) as response,
            ):
                if response.status != _HTTP_OK:
                    raise NetworkError(f"The moderation endpoint answered {response.status}.")
                return _broken(await response.json())
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise NetworkError(
                f"The moderation endpoint could not be asked ({type(error).__name__}), so the "
                "question was not sent."
            ) from None


def _broken(verdict: Any) -> tuple[str, ...]:
    match verdict:
        case {"results": [{"flagged": False}, *_]}:
            return ()
        case {"results": [{"flagged": True, "categories": dict(categories)}, *_]}:
            return tuple(name for name, broken in categories.items() if broken) or ("flagged",)
        case {"results": [{"flagged": True}, *_]}:
            return ("flagged",)
        case _:
            raise ValueError("no verdict")


@dataclass(frozen=True, slots=True)
class Moderated(Provider):
    """Asks only what a moderator lets pass; without a verdict nothing is asked."""

    inner: Provider
    moderator: Moderator

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        said = [message.text for message in question.messages if message.role is Role.USER]
        faults = await self.moderator.faults((said[-1] if said else "")[-_MOST_CHARACTERS:])
        if faults:
            raise PermissionDeniedError(
                f"The question was not sent: moderation found {', '.join(faults)}. "
                "Say it otherwise."
            )
        async with aclosing(self.inner.stream(question)) as events:
            async for event in events:
                yield event


@dataclass(frozen=True, slots=True)
class Cleaned(Provider):
    """Takes out of every question what `clean` takes out of its texts."""

    inner: Provider
    clean: Callable[[str], str]

    @override
    async def stream(self, question: Question) -> AsyncGenerator[Event]:
        messages = tuple(
            Message(message.role, tuple(self._part(part) for part in message.parts))
            for message in question.messages
        )
        system = None if question.system is None else self.clean(question.system)
        cleaned = replace(question, messages=messages, system=system)
        async with aclosing(self.inner.stream(cleaned)) as events:
            async for event in events:
                yield event

    def _part(self, part: Part) -> Part:
        match part:
            case Text(text):
                return Text(self.clean(text))
            case ToolResult(call_id, content, is_error):
                pieces = tuple(
                    Text(self.clean(piece.text)) if isinstance(piece, Text) else piece
                    for piece in content
                )
                return ToolResult(call_id, pieces, is_error)
            case _:
                return part
