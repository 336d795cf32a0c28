"""Encoding of conversations, messages and agent sessions as database rows, and page cursors."""

import base64
import binascii
import json
import math
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from junto.domain.completions import Usage
from junto.domain.conversations import (
    Conversation,
    ConversationPage,
    ConversationStatus,
    StoredMessage,
)
from junto.domain.errors import InvalidInputError
from junto.domain.messages import Message, Role
from junto.domain.sessions import Session, TranscriptLine
from junto.storage.message_json import decode_parts, encode_parts
from junto.storage.values import Row, clean_text

SESSION_COLUMNS = ("id", "owner", "cwd", "cost", "created", "updated")
SESSION_MUTABLE_COLUMNS = ("cwd", "cost", "updated")
_MAX_KEY = 2**63
_INVALID_CURSOR = "cursor: it takes the cursor of the page before, or nothing for the first."


def encode_conversation(conversation: Conversation) -> dict[str, Any]:
    """Return a conversation as a row, without its parent."""
    return {
        "id": conversation.id,
        "owner": conversation.owner,
        "model": conversation.model,
        "title": clean_text(conversation.title),
        "system": None if conversation.system is None else clean_text(conversation.system),
        "settings": json.dumps(dict(conversation.settings)),
        "models": json.dumps(conversation.models),
        "status": conversation.status.value,
        "inherited": conversation.inherited,
        "created": conversation.created,
        "updated": conversation.updated,
    }


def decode_conversation(row: Row) -> Conversation:
    """Return the conversation in a row, which has the id of its parent."""
    return Conversation(
        id=row["id"],
        owner=row["owner"],
        model=row["model"],
        title=row["title"],
        system=row["system"],
        settings=json.loads(row["settings"]),
        models=tuple(json.loads(row["models"])),
        status=ConversationStatus(row["status"]),
        parent=row["parent_id"],
        inherited=row["inherited"],
        length=row["length"],
        created=row["created"],
        updated=row["updated"],
    )


def encode_message(stored: StoredMessage) -> dict[str, Any]:
    """Return a message as a row."""
    return {
        "position": stored.position,
        "role": stored.message.role.value,
        "parts": json.dumps(encode_parts(stored.message.parts), separators=(",", ":")),
        "at": stored.at,
        "model": stored.model,
        "provider": stored.provider,
        "usage": json.dumps(asdict(stored.usage)) if stored.usage else None,
        "cost": None if stored.cost is None else str(stored.cost),
    }


def decode_message(row: Row) -> StoredMessage:
    """Return the message in a row."""
    return StoredMessage(
        position=row["position"],
        message=Message(Role(row["role"]), decode_parts(json.loads(row["parts"]))),
        at=row["at"],
        model=row["model"],
        provider=row["provider"],
        usage=Usage(**json.loads(row["usage"])) if row["usage"] else None,
        cost=None if row["cost"] is None else Decimal(row["cost"]),
    )


def build_page(rows: list[Row], limit: int) -> ConversationPage:
    """Return a page of at most `limit` rows; one row more means that there is a next page."""
    page = rows[:limit]
    cursor = _encode_cursor(page[-1]["updated"], page[-1]["key"]) if len(rows) > limit else None
    return ConversationPage(tuple(decode_conversation(row) for row in page), cursor)


def _encode_cursor(updated: float, key: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([updated, key]).encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None) -> tuple[float, int]:
    """Return the time and key of the row before the page.

    Raises:
        InvalidInputError: the cursor is invalid.
    """
    if cursor is None:
        return float("inf"), 0
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        updated, key = json.loads(base64.urlsafe_b64decode(padded.encode()))
        position = float(updated), int(key)
    except (ValueError, TypeError, OverflowError, RecursionError, binascii.Error):
        raise InvalidInputError(_INVALID_CURSOR) from None
    if not math.isfinite(position[0]) or abs(position[1]) >= _MAX_KEY:
        raise InvalidInputError(_INVALID_CURSOR)
    return position


def encode_session(session: Session) -> dict[str, Any]:
    """Return a session as a row."""
    row = {name: getattr(session, name) for name in SESSION_COLUMNS}
    return row | {"cwd": clean_text(session.cwd)}


def decode_session(row: Row) -> Session:
    """Return the session in a row."""
    return Session(**{name: row[name] for name in SESSION_COLUMNS})


def encode_transcript_line(line: TranscriptLine) -> tuple[str, str, str | None]:
    """Return a transcript line as a row: part, text and uuid."""
    return (
        clean_text(line.part),
        clean_text(line.text),
        None if line.uuid is None else clean_text(line.uuid),
    )


def decode_transcript_line(row: Row) -> TranscriptLine:
    """Return the transcript line in a row."""
    return TranscriptLine(row["part"], row["text"], row["uuid"])
