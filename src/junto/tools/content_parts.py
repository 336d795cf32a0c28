"""Pictures and documents that come with a question."""

import base64
import binascii
from typing import Annotated, Protocol

from pydantic import Field, WithJsonSchema

from junto.domain.errors import InvalidInputError
from junto.domain.messages import Document, Image, Message, Part, Text
from junto.tools.tool import Arguments

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_PDF = "application/pdf"
MOST_PARTS = 20
MOST_BYTES = 20 * 1024 * 1024


class InlineData(Arguments):
    """Data that comes with the call."""

    mime_type: str
    data: str


class FileData(Arguments):
    """Data that lies somewhere."""

    mime_type: str
    file_uri: str


class PartArgument(Arguments):
    """One part, in one of three forms."""

    text: str | None = None
    inline_data: InlineData | None = None
    file_data: FileData | None = None


# Told in one line: all of its schema, twice, would take more room than most tools.
_FORMS = (
    "Images, PDF or texts to look at: {text}, {inlineData:{mimeType,data}} with base64, or "
    "{fileData:{mimeType,fileUri}} with file:// or https://."
)
Parts = Annotated[
    list[PartArgument],
    Field(max_length=MOST_PARTS, description=_FORMS),
    WithJsonSchema({"type": "array", "items": {"type": "object"}, "description": _FORMS}),
]


class Files(Protocol):
    """Where files are read that a call only names."""

    async def read(self, uri: str, most_bytes: int) -> bytes:
        """Return what lies at `uri`.

        Raises:
            JuntoError: it must not be read, or cannot.
        """
        ...


async def message_of(text: str, parts: list[PartArgument] | None, files: Files) -> Message:
    """Return what the user says: their words, then their parts.

    Raises:
        InvalidInputError: a part is in no form that a model takes, or there is too much.
        JuntoError: a file must not be read, or cannot.
    """
    found: list[Part] = [Text(text)] if text else []
    left = MOST_BYTES
    for number, part in enumerate(parts or ()):
        made, size = await _made(part, f"parts.{number}", files, left)
        left -= size
        if left < 0:
            raise InvalidInputError(f"parts: they hold more than {MOST_BYTES // 2**20} MB.")
        found.append(made)
    if not any(not isinstance(part, Text) or part.text for part in found):
        raise InvalidInputError("The message is empty: say something, or send parts.")
    return Message.user(*found)


async def _made(part: PartArgument, where: str, files: Files, left: int) -> tuple[Part, int]:
    given = [
        name for name in ("text", "inline_data", "file_data") if getattr(part, name) is not None
    ]
    match given:
        case ["text"]:
            words = part.text or ""
            return Text(words), len(words.encode("utf-8", "replace"))
        case ["inline_data"] if part.inline_data:
            data = _decoded(part.inline_data.data, where)
            return _typed(part.inline_data.mime_type, data, None, where), len(data)
        case ["file_data"] if part.file_data:
            data = await files.read(part.file_data.file_uri, left)
            name = part.file_data.file_uri.rpartition("/")[2]
            return _typed(part.file_data.mime_type, data, name or None, where), len(data)
        case _:
            raise InvalidInputError(
                f"{where}: it takes exactly one of text, inlineData and fileData."
            )


def _decoded(data: str, where: str) -> bytes:
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInputError(f"{where}.inlineData.data: it takes base64.") from None


def _typed(mime_type: str, data: bytes, title: str | None, where: str) -> Part:
    kind = mime_type.partition(";")[0].strip().lower()
    if not data:
        raise InvalidInputError(f"{where}: it is empty.")
    if kind in _IMAGES:
        return Image(kind, data)
    if kind == _PDF:
        return Document(kind, data, title)
    if kind.startswith("text/"):
        return Text(data.decode("utf-8", "replace"))
    raise InvalidInputError(
        f"{where}: a model takes no {kind[:50]}, but images (png, jpeg, gif, webp), PDF and text."
    )
