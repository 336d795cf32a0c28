"""Export and import of conversations: all as JSON lines, or one as Markdown."""

import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from junto.domain.completions import Usage
from junto.domain.conversations import (
    Conversation,
    ConversationStatus,
    ConversationStore,
    StoredMessage,
)
from junto.domain.errors import InvalidInputError
from junto.domain.messages import (
    DocumentPart,
    ImagePart,
    Message,
    Role,
    TextPart,
    ToolCall,
    ToolResult,
)
from junto.storage.message_json import decode_parts, encode_parts

_MAX_TIMESTAMP = 253_402_300_800  # the year 10000


async def export_lines(store: ConversationStore, owner: str) -> AsyncIterator[str]:
    """Yield every conversation as one line, parents before their branches."""
    async for conversation, messages in store.iter_all(owner):
        yield encode_line(conversation, messages)


def encode_line(conversation: Conversation, messages: tuple[StoredMessage, ...]) -> str:
    """Return a conversation and its own messages as one line of JSON."""
    record = asdict(conversation)
    del record["owner"], record["length"]
    record["messages"] = [_encode_message(each) for each in messages]
    return json.dumps(record, ensure_ascii=False)


def encode_standalone_line(conversation: Conversation, messages: tuple[StoredMessage, ...]) -> str:
    """Return a conversation as a line that needs no parent: inherited messages become its own."""
    return encode_line(replace(conversation, parent=None, inherited=0), messages)


async def import_from_lines(store: ConversationStore, owner: str, lines: Iterable[str]) -> int:
    """Import conversations from lines, and return how many there were.

    Raises:
        InvalidInputError: a line is not in the export format, or its conversation already exists.
    """
    count, deleted_ids = 0, []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        conversation, messages = _parse_line(line, number, owner)
        before = replace(conversation, length=conversation.inherited)
        if await store.find(owner, conversation.id) or await store.save_turn(before, messages):
            raise InvalidInputError(
                f"line {number}: the conversation {conversation.id} is there already. The "
                f"{count} before it have been read."
            )
        # Counts as used now; otherwise an old conversation would expire again at once.
        await store.touch(owner, conversation.id, time.time())
        if conversation.status is ConversationStatus.DELETED:
            deleted_ids.append(conversation.id)
        count += 1
    for conversation_id in deleted_ids:  # only now, because branches share their messages
        await store.delete(owner, conversation_id)
    return count


def format_markdown(conversation: Conversation, messages: Iterable[StoredMessage]) -> str:
    """Return a conversation as Markdown."""
    created = datetime.fromtimestamp(conversation.created, UTC).isoformat(timespec="seconds")
    head = [f"# {conversation.title}", f"{conversation.id}, {conversation.model}, {created}"]
    if conversation.system:
        head.append(f"> {conversation.system}")
    turns = [f"## {_speaker_name(each)}\n\n{_format_message(each.message)}" for each in messages]
    return "\n\n".join([*head, *turns]) + "\n"


def _speaker_name(stored: StoredMessage) -> str:
    return "You" if stored.message.role is Role.USER else stored.model or "Model"


def _format_message(message: Message) -> str:
    blocks = []
    for part in message.parts:
        match part:
            case TextPart(text):
                blocks.append(text)
            case ImagePart(mime_type, data) | DocumentPart(mime_type, data):
                blocks.append(f"*({mime_type}, {len(data):,} bytes)*")
            case ToolCall(_, name, arguments):
                blocks.append(f"*(calls {name} with {json.dumps(dict(arguments))})*")
            case ToolResult(_, content):
                blocks.append(_format_message(Message(Role.USER, content)))
    return "\n\n".join(blocks)


def _encode_message(stored: StoredMessage) -> dict[str, Any]:
    return {
        "role": stored.message.role.value,
        "parts": encode_parts(stored.message.parts),
        "at": stored.at,
        "model": stored.model,
        "provider": stored.provider,
        "usage": asdict(stored.usage) if stored.usage else None,
        "cost": None if stored.cost is None else str(stored.cost),
    }


def _parse_line(
    line: str, number: int, owner: str
) -> tuple[Conversation, tuple[StoredMessage, ...]]:
    try:
        record = json.loads(line)
        messages = record.pop("messages")
        record["models"] = tuple(record["models"])
        record["status"] = ConversationStatus(record["status"])
        conversation = Conversation(owner=owner, **record)
        _validate(conversation)
        stored = tuple(
            _decode_message(each, position)
            for position, each in enumerate(messages, start=conversation.inherited)
        )
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise InvalidInputError(
            f"line {number}: it is no conversation as `junto conversations export` writes it."
        ) from None
    return conversation, stored


def _validate(conversation: Conversation) -> None:
    """Reject values that an export never contains; the dataclass does not check its types."""
    texts = (conversation.id, conversation.model, conversation.title, *conversation.models)
    optional = (conversation.system, conversation.parent)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text")
    if not all(text is None or isinstance(text, str) for text in optional):
        raise TypeError("a text")
    if not isinstance(conversation.settings, dict) or not conversation.id.isprintable():
        raise TypeError("settings, or an id")
    inherited, max_inherited = conversation.inherited, 2**31 if conversation.parent else 0
    if not conversation.id or type(inherited) is not int or not 0 <= inherited <= max_inherited:
        raise ValueError("an id, or what is inherited")
    for timestamp in (conversation.created, conversation.updated):
        _parse_timestamp(timestamp)


def _parse_timestamp(value: float) -> float:
    if not 0 <= float(value) < _MAX_TIMESTAMP:
        raise ValueError("a time")
    return float(value)


def _decode_message(facts: Mapping[str, Any], position: int) -> StoredMessage:
    return StoredMessage(
        position=position,
        message=Message(Role(facts["role"]), decode_parts(facts["parts"])),
        at=_parse_timestamp(facts["at"]),
        model=facts["model"],
        provider=facts["provider"],
        usage=Usage(**facts["usage"]) if facts["usage"] else None,
        cost=None if facts["cost"] is None else Decimal(facts["cost"]),
    )
