"""Messages and answers as JSON, the way they are kept."""

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from junto.domain.messages import (
    Document,
    Image,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from junto.domain.questions import Answer, StopReason, Usage

Json = dict[str, Any]


def written_answer(answer: Answer) -> str:
    """Return an answer as text."""
    return json.dumps(
        {
            "role": answer.message.role,
            "parts": written_parts(answer.message.parts),
            "stop": answer.stop,
            "usage": asdict(answer.usage),
            "model": answer.model,
        },
        separators=(",", ":"),
    )


def read_answer(text: str | bytes) -> Answer:
    """Return the answer that was written as `text`."""
    kept = json.loads(text)
    return Answer(
        message=Message(Role(kept["role"]), read_parts(kept["parts"])),
        stop=StopReason(kept["stop"]),
        usage=Usage(**kept["usage"]),
        model=kept["model"],
    )


def written_parts(parts: tuple[Part, ...]) -> list[Json]:
    """Return the parts of a message as JSON."""
    return [_written(part) for part in parts]


def read_parts(kept: list[Json]) -> tuple[Part, ...]:
    """Return the parts that were written as JSON."""
    return tuple(_read(part) for part in kept)


def _written(part: Part) -> Json:
    match part:
        case Text(text):
            return {"kind": "text", "text": text}
        case Image(mime_type, data):
            return {"kind": "image", "type": mime_type, "data": _text(data)}
        case Document(mime_type, data, title):
            return {"kind": "document", "type": mime_type, "data": _text(data), "title": title}
        case Thinking(text, signature, sealed):
            return {"kind": "thinking", "text": text, "signature": signature, "sealed": sealed}
        case ToolCall(call_id, name, arguments):
            return {"kind": "call", "id": call_id, "name": name, "arguments": dict(arguments)}
        case ToolResult(call_id, content, is_error):
            pieces = written_parts(content)
            return {"kind": "result", "id": call_id, "content": pieces, "is_error": is_error}


def _read(kept: Mapping[str, Any]) -> Part:
    match kept["kind"]:
        case "text":
            return Text(kept["text"])
        case "image":
            return Image(kept["type"], _bytes(kept["data"]))
        case "document":
            return Document(kept["type"], _bytes(kept["data"]), kept["title"])
        case "thinking":
            return Thinking(kept["text"], kept["signature"], kept["sealed"])
        case "call":
            return ToolCall(kept["id"], kept["name"], kept["arguments"])
        case "result":
            pieces = tuple(_read(piece) for piece in kept["content"])
            shown = tuple(piece for piece in pieces if isinstance(piece, Text | Image))
            return ToolResult(kept["id"], shown, kept["is_error"])
        case kind:
            raise ValueError(f"a part of a kind that is not known: {kind}")


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)
