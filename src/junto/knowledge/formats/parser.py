"""Parsing of untrusted files in any format."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from junto.knowledge.formats.decoder import FALLBACK_CODEC, check_text, try_decode
from junto.knowledge.formats.detection import MARKDOWN, FileFormat, detect_format
from junto.knowledge.formats.text import (
    DocumentText,
    UnreadableFileError,
    clean_text,
    find_heading,
    to_single_line,
)
from junto.knowledge.formats.worker import ParserWorker
from junto.text.charsets import find_declared_codec, resolve_codec

_TIMEOUT_SECONDS = 30.0
_MAX_MEMORY_BYTES = 1024**3
# Larger content is decoded in a thread, so as not to block the event loop.
_MAX_INLINE_BYTES = 256 * 1024

T = TypeVar("T")
P = ParamSpec("P")


class DocumentParser:
    """A parser for files: text in this process, other formats in one started on demand."""

    def __init__(
        self, *, timeout: float = _TIMEOUT_SECONDS, max_memory_bytes: int = _MAX_MEMORY_BYTES
    ) -> None:
        """Limit the time for each file, and the memory of the worker process."""
        self._worker = ParserWorker(timeout, max_memory_bytes)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._worker.close()

    async def parse(
        self, name: str, content: bytes, content_type: str | None = None
    ) -> DocumentText:
        """Return the text of a file; `content_type` is the one that a server declared.

        Raises:
            UnreadableFileError: the file has no readable text; the message says why.
            ExecutionError: the worker process does not start.
            CancelledCallError: the parser was closed meanwhile.
        """
        file_format = detect_format(name, content, content_type)
        declared_codec = find_declared_codec(content_type) if content_type else None
        if not file_format.binary_name:
            check_text(content)
        if file_format.parser:
            return await self._parse_in_worker(file_format, content, declared_codec)
        text = await self._decode_text(content, declared_codec)
        return _build_document_text(
            file_format, text, find_heading(text) if file_format is MARKDOWN else None
        )

    async def _decode_text(self, content: bytes, declared_codec: str | None) -> str:
        text = await _run_off_loop(len(content), _decode_and_clean, content, declared_codec)
        if text is None:
            response, _ = await self._worker.request({"reader": "guess"}, content)
            guess = resolve_codec(str(response.get("codec"))) or FALLBACK_CODEC
            text = await _run_off_loop(len(content), _decode_and_clean, content, guess)
        return text or ""

    async def _parse_in_worker(
        self, file_format: FileFormat, content: bytes, declared_codec: str | None
    ) -> DocumentText:
        request = {"reader": file_format.parser, "codec": declared_codec}
        response, body = await self._worker.request(request, content)
        if "problem" in response:
            raise UnreadableFileError(to_single_line(str(response["problem"])))
        text = await _run_off_loop(len(body), _decode_and_clean, body, "utf-8")
        return _build_document_text(file_format, text or "", str(response.get("title") or ""))


def _decode_and_clean(content: bytes, declared_codec: str | None) -> str | None:
    text = try_decode(content, declared_codec)
    return None if text is None else clean_text(text)


async def _run_off_loop(
    size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    if size < _MAX_INLINE_BYTES:
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)


def _build_document_text(file_format: FileFormat, text: str, title: str | None) -> DocumentText:
    return DocumentText(
        text,
        file_format.name,
        file_format.structure,
        (to_single_line(title) or None) if title else None,
    )
