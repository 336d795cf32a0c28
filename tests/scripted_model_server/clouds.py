"""Claude as the clouds serve it, on loopback: AWS's binary frames, and Google's plain events.

async with Upstream.started() as upstream:
    upstream.will(bedrock_reply(anthropic_events("Hello")))
    ... ask it at upstream.url ...
    assert upstream.requests[0].path == "/model/m/invoke-with-response-stream"
"""

import base64
import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

from tests.scripted_model_server import Json, ScriptedReply

_STRING = 7


def bedrock_reply(events: Sequence[Json | bytes], **behaviour: Any) -> ScriptedReply:
    """Return an answer of `invoke-with-response-stream`; what is bytes already is sent as it is."""
    frames = [event if isinstance(event, bytes) else chunk(event) for event in events]
    return ScriptedReply(
        frames, headers={"content-type": "application/vnd.amazon.eventstream"}, **behaviour
    )


def bedrock_refusal(status: int, kind: str, message: str, **headers: str) -> ScriptedReply:
    """Return an error as AWS words it."""
    return ScriptedReply(
        status=status, body={"message": message}, headers={"x-amzn-errortype": kind, **headers}
    )


def vertex_reply(events: Sequence[Json | bytes], **behaviour: Any) -> ScriptedReply:
    """Return an answer of `streamRawPredict`."""
    return ScriptedReply(events, **behaviour)


def vertex_refusal(status: int, kind: str, message: str, **headers: str) -> ScriptedReply:
    """Return an error as Google words it."""
    error = {"code": status, "message": message, "status": kind}
    return ScriptedReply(status=status, body={"error": error}, headers=headers)


def chunk(event: Json) -> bytes:
    """Return the frame around one event of the model."""
    payload = {"bytes": base64.b64encode(json.dumps(event).encode()).decode(), "p": "abcdef"}
    return frame({":event-type": "chunk", ":message-type": "event"}, payload)


def exception(kind: str, message: str) -> bytes:
    """Return the frame that ends a stream with an error."""
    return frame({":exception-type": kind, ":message-type": "exception"}, {"message": message})


def frame(headers: dict[str, str], payload: Json) -> bytes:
    """Return a message of AWS's event stream: prelude, headers, payload, each part checksummed."""
    named = b"".join(
        _header(name, value)
        for name, value in {**headers, ":content-type": "application/json"}.items()
    )
    body = json.dumps(payload).encode()
    lengths = struct.pack("!II", 16 + len(named) + len(body), len(named))
    message = lengths + _checksum(lengths) + named + body
    return message + _checksum(message)


def _header(name: str, value: str) -> bytes:
    key, said = name.encode(), value.encode()
    return bytes([len(key)]) + key + struct.pack("!BH", _STRING, len(said)) + said


def _checksum(data: bytes) -> bytes:
    return struct.pack("!I", zlib.crc32(data))
