"""Conversations and messages as rows, the same in every database."""

import base64
import binascii
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from junto.domain.conversations import Conversation, Page, Said, Status
from junto.domain.errors import InvalidInputError
from junto.domain.messages import Message, Role
from junto.domain.questions import Usage
from junto.storage.encoding import read_parts, written_parts

Row = Mapping[str, Any] | Any

_LARGEST_KEY = 2**63
_CURSOR = "cursor: it takes the cursor of the page before, or nothing for the first."


def conversation_row(conversation: Conversation) -> dict[str, Any]:
    """Return what is kept of a conversation, without its parent."""
    return {
        "id": conversation.id,
        "owner": conversation.owner,
        "model": conversation.model,
        "title": clean(conversation.title),
        "system": None if conversation.system is None else clean(conversation.system),
        "settings": json.dumps(dict(conversation.settings)),
        "models": json.dumps(conversation.models),
        "status": conversation.status.value,
        "inherited": conversation.inherited,
        "created": conversation.created,
        "updated": conversation.updated,
    }


def read_conversation(row: Row) -> Conversation:
    """Return the conversation in a row, which names its parent by id."""
    return Conversation(
        id=row["id"],
        owner=row["owner"],
        model=row["model"],
        title=row["title"],
        system=row["system"],
        settings=json.loads(row["settings"]),
        models=tuple(json.loads(row["models"])),
        status=Status(row["status"]),
        parent=row["parent_id"],
        inherited=row["inherited"],
        length=row["length"],
        created=row["created"],
        updated=row["updated"],
    )


def message_row(said: Said) -> dict[str, Any]:
    """Return what is kept of a message."""
    return {
        "position": said.position,
        "role": said.message.role.value,
        "parts": json.dumps(written_parts(said.message.parts), separators=(",", ":")),
        "at": said.at,
        "model": said.model,
        "provider": said.provider,
        "usage": json.dumps(asdict(said.usage)) if said.usage else None,
        "cost": None if said.cost is None else str(said.cost),
    }


def clean(text: str) -> str:
    """Return text that every database takes: no NUL, no half of a surrogate pair."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def read_said(row: Row) -> Said:
    """Return the message in a row."""
    return Said(
        position=row["position"],
        message=Message(Role(row["role"]), read_parts(json.loads(row["parts"]))),
        at=row["at"],
        model=row["model"],
        provider=row["provider"],
        usage=Usage(**json.loads(row["usage"])) if row["usage"] else None,
        cost=None if row["cost"] is None else Decimal(row["cost"]),
    )


def page(rows: list[Row], limit: int) -> Page:
    """Return a page of `limit` out of rows that may be one more."""
    shown = rows[:limit]
    more = _cursor(shown[-1]["updated"], shown[-1]["key"]) if len(rows) > limit else None
    return Page(tuple(read_conversation(row) for row in shown), more)


def _cursor(updated: float, key: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([updated, key]).encode()).decode().rstrip("=")


def position_of(cursor: str | None) -> tuple[float, int]:
    """Return after which row a page begins.

    Raises:
        InvalidInputError: the cursor is none of ours.
    """
    if cursor is None:
        return float("inf"), 0
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        updated, key = json.loads(base64.urlsafe_b64decode(padded.encode()))
        place = float(updated), int(key)
    except (ValueError, TypeError, OverflowError, RecursionError, binascii.Error):
        raise InvalidInputError(_CURSOR) from None
    if not math.isfinite(place[0]) or abs(place[1]) >= _LARGEST_KEY:
        raise InvalidInputError(_CURSOR)
    return place
