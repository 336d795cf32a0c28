"""Text, images and documents that are attached to a message."""

import base64
import binascii
from typing import Annotated, Any, Protocol

from pydantic import Field, WithJsonSchema, model_validator
from pydantic.alias_generators import to_camel

from junto.domain.errors import InvalidInputError
from junto.domain.messages import DocumentPart, ImagePart, Message, Part, TextPart
from junto.tools.base import Arguments

_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_PDF_TYPE = "application/pdf"
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", _PDF_TYPE),
)
_ACCEPTED_PARTS = (
    "{text} | {inlineData: {mimeType, data}} | {fileData: {mimeType, fileUri}}, or a content block "
    "of the Anthropic or OpenAI API"
)
_MAX_PARTS = 20
_MAX_TOTAL_BYTES = 20 * 1024 * 1024


class InlineData(Arguments):
    """Base64 data in the call itself."""

    mime_type: str
    data: str


class FileData(Arguments):
    """Data in a file or at a URL."""

    mime_type: str
    file_uri: str


class PartArgument(Arguments):
    """One part; exactly one of its fields is set."""

    text: str | None = None
    inline_data: InlineData | None = None
    file_data: FileData | None = None

    @model_validator(mode="before")
    @classmethod
    def _accept_provider_formats(cls, value: Any) -> Any:
        """Accept the content blocks of the Anthropic and OpenAI APIs."""
        part = _convert_block(value)
        names = {name for each in cls.model_fields for name in (each, to_camel(each))}
        if not isinstance(part, dict) or not part.keys() <= names:
            raise ValueError(f"expected {_ACCEPTED_PARTS}")
        return part


# Described in one line, because the full schema is longer than that of most tools.
_PARTS_DESCRIPTION = (
    "Images, PDF or text: {text}, {inlineData: {mimeType, data}} in base64, or "
    "{fileData: {mimeType, fileUri}} with file:// or https://."
)
Parts = Annotated[
    list[PartArgument],
    Field(max_length=_MAX_PARTS, description=_PARTS_DESCRIPTION),
    WithJsonSchema(
        {"type": "array", "items": {"type": "object"}, "description": _PARTS_DESCRIPTION}
    ),
]


class FileReader(Protocol):
    """Reads the files that `fileData` parts refer to."""

    async def read(self, uri: str, max_bytes: int) -> bytes:
        """Return the content at `uri`.

        Raises:
            JuntoError: reading it is not allowed, or fails.
        """
        ...


async def build_message(text: str, parts: list[PartArgument] | None, files: FileReader) -> Message:
    """Return a user message with the text followed by the parts.

    Raises:
        InvalidInputError: a part is invalid, the message is empty, or the parts are too large.
        JuntoError: reading a file is not allowed, or fails.
    """
    content: list[Part] = [TextPart(text)] if text else []
    bytes_left = _MAX_TOTAL_BYTES
    for number, part in enumerate(parts or ()):
        built, size = await _build_part(part, f"parts[{number}]", files, bytes_left)
        bytes_left -= size
        if bytes_left < 0:
            raise InvalidInputError(f"parts: more than {_MAX_TOTAL_BYTES // 2**20} MB in total.")
        content.append(built)
    if not any(not isinstance(part, TextPart) or part.text for part in content):
        raise InvalidInputError("The message is empty. Write a text or send parts.")
    return Message.user(*content)


async def _build_part(
    part: PartArgument, location: str, files: FileReader, max_bytes: int
) -> tuple[Part, int]:
    set_fields = [
        name for name in ("text", "inline_data", "file_data") if getattr(part, name) is not None
    ]
    match set_fields:
        case ["text"]:
            text = part.text or ""
            return TextPart(text), len(text.encode("utf-8", "replace"))
        case ["inline_data"] if part.inline_data:
            data = _decode_base64(part.inline_data.data, location)
            return _build_typed_part(part.inline_data.mime_type, data, None, location), len(data)
        case ["file_data"] if part.file_data:
            data = await files.read(part.file_data.file_uri, max_bytes)
            name = part.file_data.file_uri.rpartition("/")[2]
            return _build_typed_part(part.file_data.mime_type, data, name or None, location), len(
                data
            )
        case _:
            raise InvalidInputError(f"{location}: expected {_ACCEPTED_PARTS}.")


def _decode_base64(data: str, location: str) -> bytes:
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInputError(f"{location}.inlineData.data: expected base64.") from None


def _build_typed_part(mime_type: str, data: bytes, title: str | None, location: str) -> Part:
    kind = mime_type.partition(";")[0].strip().lower()
    if not data:
        raise InvalidInputError(f"{location}: the data is empty.")
    detected = detect_media_type(data)
    kind = kind or detected or "text/plain"  # content blocks with a URL have no type
    if (kind in _IMAGE_TYPES or kind == _PDF_TYPE) and kind != detected:
        raise InvalidInputError(
            f"{location}: mimeType is {kind}, but the data is {detected or 'something else'}."
        )
    if kind in _IMAGE_TYPES:
        return ImagePart(kind, data)
    if kind == _PDF_TYPE:
        return DocumentPart(kind, data, title)
    if kind.startswith("text/"):
        return TextPart(data.decode("utf-8", "replace"))
    raise InvalidInputError(
        f"{location}: {kind[:50]} is not supported. Models accept images (png, jpeg, gif, webp), "
        "PDF and text."
    )


def detect_media_type(data: bytes) -> str | None:
    """Return the type of an image or PDF by its first bytes, or None for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for magic, mime in _SIGNATURES if data.startswith(magic)), None)


def _convert_block(block: Any) -> Any:
    """Return a content block of the Anthropic or OpenAI API as a part; others as they are."""
    match block:
        case {"type": "text" | "input_text", "text": str(text)}:
            return {"text": text}
        case {
            "type": "image" | "document",
            "source": {"type": "base64", "media_type": str(mime_type), "data": str(data)},
        }:
            return {"inlineData": {"mimeType": mime_type, "data": data}}
        case {"type": "image" | "document", "source": {"type": "url", "url": str(url)}}:
            return _convert_url(url)
        case {"type": "document", "source": {"type": "text", "data": str(text)}}:
            return {"text": text}
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return _convert_url(url)
        case {"type": "input_image", "image_url": str(url)}:
            return _convert_url(url)
        case {"type": "file", "file": {"file_data": str(url)}}:
            return _convert_url(url)
        case {"type": "input_file", "file_data": str(url)}:
            return _convert_url(url)
        case _:
            return block


def _convert_url(url: str) -> Any:
    head, separator, data = url.partition(";base64,")
    if separator and head.startswith("data:"):
        return {"inlineData": {"mimeType": head.removeprefix("data:"), "data": data}}
    return {"fileData": {"mimeType": "", "fileUri": url}}
