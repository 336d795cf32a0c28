"""Encoding of messages and answers as JSON for storage."""

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from junto.domain.completions import Answer, StopReason, Usage
from junto.domain.messages import (
    DocumentPart,
    ImagePart,
    Message,
    Part,
    Role,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
)

JsonDict = dict[str, Any]


def encode_answer(answer: Answer) -> str:
    """Return an answer as JSON text."""
    return json.dumps(
        {
            "role": answer.message.role,
            "parts": encode_parts(answer.message.parts),
            "stop": answer.stop_reason,
            "usage": asdict(answer.usage),
            "model": answer.model,
        },
        separators=(",", ":"),
    )


def decode_answer(text: str | bytes) -> Answer:
    """Return the answer in JSON text."""
    encoded = json.loads(text)
    return Answer(
        message=Message(Role(encoded["role"]), decode_parts(encoded["parts"])),
        stop_reason=StopReason(encoded["stop"]),
        usage=Usage(**encoded["usage"]),
        model=encoded["model"],
    )


def encode_parts(parts: tuple[Part, ...]) -> list[JsonDict]:
    """Return the parts of a message as JSON."""
    return [_encode_part(part) for part in parts]


def decode_parts(encoded: list[JsonDict]) -> tuple[Part, ...]:
    """Return the parts of a message from JSON."""
    return tuple(_decode_part(part) for part in encoded)


def _encode_part(part: Part) -> JsonDict:
    match part:
        case TextPart(text):
            return {"kind": "text", "text": text}
        case ImagePart(mime_type, data):
            return {"kind": "image", "type": mime_type, "data": _encode_bytes(data)}
        case DocumentPart(mime_type, data, title):
            return {
                "kind": "document",
                "type": mime_type,
                "data": _encode_bytes(data),
                "title": title,
            }
        case ThinkingPart(text, signature, encrypted):
            return {"kind": "thinking", "text": text, "signature": signature, "sealed": encrypted}
        case ToolCall(call_id, name, arguments):
            return {"kind": "call", "id": call_id, "name": name, "arguments": dict(arguments)}
        case ToolResult(call_id, content, is_error):
            parts = encode_parts(content)
            return {"kind": "result", "id": call_id, "content": parts, "is_error": is_error}


def _decode_part(encoded: Mapping[str, Any]) -> Part:
    match encoded["kind"]:
        case "text":
            return TextPart(encoded["text"])
        case "image":
            return ImagePart(encoded["type"], _decode_bytes(encoded["data"]))
        case "document":
            return DocumentPart(encoded["type"], _decode_bytes(encoded["data"]), encoded["title"])
        case "thinking":
            return ThinkingPart(encoded["text"], encoded["signature"], encoded["sealed"])
        case "call":
            return ToolCall(encoded["id"], encoded["name"], encoded["arguments"])
        case "result":
            parts = tuple(_decode_part(part) for part in encoded["content"])
            content = tuple(part for part in parts if isinstance(part, TextPart | ImagePart))
            return ToolResult(encoded["id"], content, encoded["is_error"])
        case kind:
            raise ValueError(f"a part of a kind that is not known: {kind}")


def _encode_bytes(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decode_bytes(text: str) -> bytes:
    return base64.b64decode(text)
