"""Conversations as files: all of them as JSON lines that can be read back, one as a text."""

import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from junto.domain.conversations import Conversation, ConversationStore, Said, Status
from junto.domain.errors import InvalidInputError
from junto.domain.messages import Document, Image, Message, Role, Text, ToolCall, ToolResult
from junto.domain.questions import Usage
from junto.storage.encoding import read_parts, written_parts

_LAST_MOMENT = 253_402_300_800  # the year 10000


async def exported(store: ConversationStore, owner: str) -> AsyncIterator[str]:
    """Yield every conversation as a line, each after the one that it branches off from."""
    async for conversation, said in store.everything(owner):
        yield line_of(conversation, said)


def line_of(conversation: Conversation, said: tuple[Said, ...]) -> str:
    """Return a conversation and its own messages as one line of JSON."""
    facts = asdict(conversation)
    del facts["owner"], facts["length"]
    facts["messages"] = [_written(each) for each in said]
    return json.dumps(facts, ensure_ascii=False)


def flat(conversation: Conversation, said: tuple[Said, ...]) -> str:
    """Return one conversation as a line that needs no other: what it shares becomes its own."""
    return line_of(replace(conversation, parent=None, inherited=0), said)


async def imported(store: ConversationStore, owner: str, lines: Iterable[str]) -> int:
    """Read lines back and return how many conversations they were.

    Raises:
        InvalidInputError: a line is none of ours, or its conversation is there already.
    """
    count, gone = 0, []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        conversation, said = _read(line, number, owner)
        before = replace(conversation, length=conversation.inherited)
        if await store.find(owner, conversation.id) or await store.keep(before, said):
            raise InvalidInputError(
                f"line {number}: the conversation {conversation.id} is there already. The "
                f"{count} before it have been read."
            )
        # Whoever brings something back wants to have it for a while.
        await store.touch(owner, conversation.id, time.time())
        if conversation.status is Status.DELETED:
            gone.append(conversation.id)
        count += 1
    for id_ in gone:  # only now that those are there which share them
        await store.delete(owner, id_)
    return count


def markdown(conversation: Conversation, said: Iterable[Said]) -> str:
    """Return a conversation as a text for people."""
    begun = datetime.fromtimestamp(conversation.created, UTC).isoformat(timespec="seconds")
    head = [f"# {conversation.title}", f"{conversation.id}, {conversation.model}, {begun}"]
    if conversation.system:
        head.append(f"> {conversation.system}")
    turns = [f"## {_speaker(each)}\n\n{_words(each.message)}" for each in said]
    return "\n\n".join([*head, *turns]) + "\n"


def _speaker(said: Said) -> str:
    return "You" if said.message.role is Role.USER else said.model or "Model"


def _words(message: Message) -> str:
    shown = []
    for part in message.parts:
        match part:
            case Text(text):
                shown.append(text)
            case Image(mime_type, data) | Document(mime_type, data):
                shown.append(f"*({mime_type}, {len(data):,} bytes)*")
            case ToolCall(_, name, arguments):
                shown.append(f"*(calls {name} with {json.dumps(dict(arguments))})*")
            case ToolResult(_, content):
                shown.append(_words(Message(Role.USER, content)))
    return "\n\n".join(shown)


def _written(said: Said) -> dict[str, Any]:
    return {
        "role": said.message.role.value,
        "parts": written_parts(said.message.parts),
        "at": said.at,
        "model": said.model,
        "provider": said.provider,
        "usage": asdict(said.usage) if said.usage else None,
        "cost": None if said.cost is None else str(said.cost),
    }


def _read(line: str, number: int, owner: str) -> tuple[Conversation, tuple[Said, ...]]:
    try:
        facts = json.loads(line)
        messages = facts.pop("messages")
        facts["models"] = tuple(facts["models"])
        facts["status"] = Status(facts["status"])
        conversation = Conversation(owner=owner, **facts)
        _check(conversation)
        said = tuple(
            _message(each, position)
            for position, each in enumerate(messages, start=conversation.inherited)
        )
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise InvalidInputError(
            f"line {number}: it is no conversation as `junto conversations export` writes it."
        ) from None
    return conversation, said


def _check(conversation: Conversation) -> None:
    """Refuse what could never have been exported; the types are only promised."""
    texts = (conversation.id, conversation.model, conversation.title, *conversation.models)
    optional = (conversation.system, conversation.parent)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text")
    if not all(text is None or isinstance(text, str) for text in optional):
        raise TypeError("a text")
    if not isinstance(conversation.settings, dict) or not conversation.id.isprintable():
        raise TypeError("settings, or an id")
    inherited, most = conversation.inherited, 2**31 if conversation.parent else 0
    if not conversation.id or type(inherited) is not int or not 0 <= inherited <= most:
        raise ValueError("an id, or what is inherited")
    for moment in (conversation.created, conversation.updated):
        _moment(moment)


def _moment(at: float) -> float:
    if not 0 <= float(at) < _LAST_MOMENT:
        raise ValueError("a time")
    return float(at)


def _message(facts: Mapping[str, Any], position: int) -> Said:
    return Said(
        position=position,
        message=Message(Role(facts["role"]), read_parts(facts["parts"])),
        at=_moment(facts["at"]),
        model=facts["model"],
        provider=facts["provider"],
        usage=Usage(**facts["usage"]) if facts["usage"] else None,
        cost=None if facts["cost"] is None else Decimal(facts["cost"]),
    )
