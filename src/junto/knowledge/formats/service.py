"""Reading files of any format, safely whatever their bytes are."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from junto.domain.alphabets import codec, declared
from junto.knowledge.formats.clerk import Clerk
from junto.knowledge.formats.decoding import FALLBACK, check_text, decoded
from junto.knowledge.formats.kinds import MARKDOWN, Kind, kind_of
from junto.knowledge.formats.markdown import first_heading
from junto.knowledge.formats.readable import Readable, UnreadableError, clean, one_line

_SECONDS = 30.0
_MEMORY = 1024**3
# What takes longer than a moment to turn into text is turned beside the loop.
_LARGE = 256 * 1024

T = TypeVar("T")
P = ParamSpec("P")


class Formats:
    """Reads files: those that are text here, all others in a child that is started when needed."""

    def __init__(self, *, seconds: float = _SECONDS, memory: int = _MEMORY) -> None:
        """Let the child take so long for a file, and so many bytes of memory."""
        self._clerk = Clerk(seconds, memory)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._clerk.close()

    async def read(self, name: str, content: bytes, content_type: str | None = None) -> Readable:
        """Return the text of a file, which may have come with a type from a server.

        Raises:
            UnreadableError: there is none to be had; the message says what it is instead.
            ExecutionError: the child does not start.
            CancelledCallError: this was closed meanwhile.
        """
        kind = kind_of(name, content, content_type)
        named = declared(content_type) if content_type else None
        if not kind.packed:
            check_text(content)
        if kind.reader:
            return await self._parsed(kind, content, named)
        text = await self._text(content, named)
        return _readable(kind, text, first_heading(text) if kind is MARKDOWN else None)

    async def _text(self, content: bytes, named: str | None) -> str:
        text = await _aside(len(content), _decoded, content, named)
        if text is None:
            answer, _ = await self._clerk.asked({"reader": "guess"}, content)
            guess = codec(str(answer.get("codec"))) or FALLBACK
            text = await _aside(len(content), _decoded, content, guess)
        return text or ""

    async def _parsed(self, kind: Kind, content: bytes, named: str | None) -> Readable:
        question = {"reader": kind.reader, "codec": named}
        answer, body = await self._clerk.asked(question, content)
        if "problem" in answer:
            raise UnreadableError(one_line(str(answer["problem"])))
        text = await _aside(len(body), _decoded, body, "utf-8")
        return _readable(kind, text or "", str(answer.get("title") or ""))


def _decoded(content: bytes, named: str | None) -> str | None:
    text = decoded(content, named)
    return None if text is None else clean(text)


async def _aside(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    if size < _LARGE:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)


def _readable(kind: Kind, text: str, title: str | None) -> Readable:
    return Readable(text, kind.name, kind.shape, (one_line(title) or None) if title else None)
