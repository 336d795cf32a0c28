"""Conversations with models: load, fit, ask, keep."""

import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from junto.conversation.history import History
from junto.conversation.schemas import checked
from junto.conversation.tool_loop import Toolbox, ToolLoop, Worked, total
from junto.domain.conversations import Conflict, Conversation, ConversationStore, Said
from junto.domain.errors import (
    InputOutputError,
    InvalidInputError,
    ModelError,
    NoRoomError,
    NotFoundError,
)
from junto.domain.estimates import message_tokens, question_tokens, text_tokens
from junto.domain.ids import canonical, new_id
from junto.domain.limits import Rate, RateLimiter, Taken
from junto.domain.messages import Message, Role
from junto.domain.questions import Answer, Effort, Event, Question, Usage
from junto.domain.usage import Origin
from junto.providers.catalog.catalog import Catalog, Offer
from junto.providers.provider import Provider
from junto.settings.tree import Answers
from junto.telemetry.logs import Log
from junto.work.tasks import finished

_thoughts = Log.of("reasoning")

_TITLE = 60
# For a model of which nobody says how much it holds.
_USUAL_WINDOW = 32_768
# Estimates are rough, so not all of a window is used.
_SHARE = 0.9
_TOUCH_EVERY = 60.0
_TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a caller says, to whom, and how; what is None is as the conversation or settings say."""

    message: Message
    owner: str
    conversation_id: str | None = None
    # Whether an id that nobody knows is a new conversation under that id.
    new_if_unknown: bool = False
    model_id: str | None = None
    system: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    reasoning: Effort | None = None
    schema: Mapping[str, Any] | None = None
    seed: int | None = None
    # With what it is asked, for whoever keeps count.
    tool: str = ""
    # The tools that the model may use, if it can.
    toolbox: Toolbox | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The question is on its way, and takes about so many tokens."""

    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer that is kept, and under which name."""

    answer: Answer
    conversation_id: str | None
    cost: Decimal | None
    data: Any = None
    notice: str | None = None
    # What the model asked of tools on the way, and what they gave.
    between: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversations:
    """Answers within conversations; without a store, every question stands alone."""

    council: Provider
    catalog: Catalog
    answers: Answers
    store: ConversationStore | None
    history: History | None
    # How often one conversation may be gone on with, and who counts.
    limiter: RateLimiter | None = None
    pace: Rate | None = None
    now: Callable[[], float] = time.time

    async def reply(self, request: Request) -> AsyncGenerator[Event | Asked | Reply]:
        """Yield the answer piece by piece, and a `Reply` once both sides are kept.

        Raises:
            NotFoundError: there is no such conversation, or no such model.
            JuntoError: the model could not answer; nothing is kept.
        """
        conversation, offer, notice = await self._begun(request)
        await self._paced(conversation)
        question = await self._question(conversation, offer, request)
        yield Asked(question_tokens(question) - question.max_tokens)
        toolbox = request.toolbox if offer.capabilities.tools else None
        worked: Worked | None = None
        async with aclosing(ToolLoop(self.council).stream(question, toolbox)) as events:
            async for event in events:
                if isinstance(event, Worked):
                    worked = event
                else:
                    yield event
        if worked is None:
            raise ModelError("The model said nothing.", retryable=True)
        if thoughts := worked.answer.message.thinking:
            _thoughts.debug("thought", model=worked.answer.model, text=thoughts)
        data = await checked(worked.answer.message.text, request.schema)
        cost = total([self._cost(model, usage) for model, usage in worked.usages])
        # Whoever stops it now comes too late: half a turn is never kept, nor one without its call.
        kept, conflict = await finished(self._kept(conversation, request.message, worked, cost))
        yield Reply(
            answer=replace(worked.answer, usage=worked.usage),
            conversation_id=kept,
            cost=cost,
            data=data,
            notice=conflict or notice,
            between=worked.between,
        )

    async def _paced(self, conversation: Conversation) -> None:
        """Let a conversation go on only as often as it may."""
        if self.limiter and self.pace:
            # A branch goes on with what it branched off from.
            key = f"conversation:{conversation.owner}:{conversation.parent or conversation.id}"
            wait = await self.limiter.take(key, 0, self.pace)
            if not isinstance(wait, Taken):
                raise NoRoomError(
                    f"This conversation is gone on with too often; there is room in {wait:.0f} s.",
                    retry_after=wait,
                )

    async def find(self, owner: str, conversation_id: str) -> Conversation:
        """Return a conversation, which counts as having been looked at.

        Raises:
            NotFoundError: there is none.
        """
        store = self.open_store()
        found = await store.find(owner, canonical(conversation_id))
        if found is None:
            raise NotFoundError(
                f"There is no conversation {conversation_id[:80]}. `list_conversations` shows "
                "which there are; without an id a new one begins."
            )
        if found.updated < self.now() - _TOUCH_EVERY:
            await store.touch(owner, found.id, self.now())
        return found

    async def fork(
        self, owner: str, conversation_id: str, length: int | None = None
    ) -> Conversation:
        """Return a new branch, which shares the first `length` messages, or all of them.

        Raises:
            NotFoundError: there is no such conversation.
            InvalidInputError: it has not so many messages.
        """
        found = await self.find(owner, conversation_id)
        if length is not None and length > found.length:
            raise InvalidInputError(f"This conversation has {found.length} messages, no more.")
        branch = found.branch(new_id(), self.now(), length)
        await self.open_store().keep(branch, ())
        return branch

    def open_store(self) -> ConversationStore:
        """Return where conversations are kept.

        Raises:
            InvalidInputError: nowhere; they are switched off.
        """
        if self.store is None:
            raise InvalidInputError(
                "Conversations are switched off here (conversations.enabled), so nothing is "
                "remembered. Ask without an id."
            )
        return self.store

    async def _begun(self, request: Request) -> tuple[Conversation, Offer, str | None]:
        """Return what to go on with: an old conversation, a branch of it, or a new one."""
        known, notice = await self._known(request)
        offer = self.catalog.find(request.model_id or (known.model if known else None))
        if known is None:
            id_ = canonical(request.conversation_id) if request.conversation_id else new_id()
            if self.store:  # where nothing can be kept, no answer is paid for
                await self.store.find(request.owner, id_)
            known = Conversation(
                id=id_,
                owner=request.owner,
                model=offer.id,
                title=_title(request.message),
                system=self.answers.system,
                settings=_explicit(request),
                created=self.now(),
            )
        elif known.model != offer.id:
            known = known.branch(new_id(), self.now(), model=offer.id)
        if request.system is not None:
            known = replace(known, system=request.system)
        return known, offer, notice

    async def _known(self, request: Request) -> tuple[Conversation | None, str | None]:
        if request.conversation_id is None:
            return None, None
        try:
            return await self.find(request.owner, request.conversation_id), None
        except NotFoundError:
            if not request.new_if_unknown:
                raise
            return None, "There was no such session, so a new one begins under this id."

    async def _question(
        self, conversation: Conversation, offer: Offer, request: Request
    ) -> Question:
        wishes = {**conversation.settings, **_explicit(request)}
        max_tokens = int(wishes.get("maxTokens") or self.answers.max_tokens)
        temperature = wishes.get("temperature", self.answers.temperature)
        before: tuple[Message, ...] = ()
        if self.history and conversation.length:
            window = self.catalog.model(offer).context_window or _USUAL_WINDOW
            spent = max_tokens + text_tokens(conversation.system) + message_tokens(request.message)
            room = int(window * _SHARE) - spent
            before = await self.history.sent(_readable(conversation), offer.route.provider, room)
        return Question(
            model=offer.id,
            messages=(*before, request.message),
            max_tokens=max_tokens,
            system=_instructed(conversation.system, offer, request.schema),
            temperature=temperature,
            reasoning=request.reasoning,
            schema=request.schema,
            seed=request.seed,
            origin=Origin(request.owner, request.tool),
        )

    def _cost(self, model: str, usage: Usage) -> Decimal | None:
        price = self.catalog.model(self.catalog.find(model)).price
        return price.cost(usage) if price else None

    async def _kept(
        self, conversation: Conversation, asked: Message, worked: Worked, cost: Decimal | None
    ) -> tuple[str | None, str | None]:
        """Keep both sides in one step; return under which id, and what is odd about it."""
        if self.store is None:
            return None, None
        now, answer = self.now(), worked.answer
        provider = self.catalog.find(answer.model).route.provider
        said = (asked, *worked.between, Message(Role.ASSISTANT, answer.message.parts))
        turn = tuple(
            Said(
                position=position,
                message=message,
                at=now,
                model=answer.model if message.role is Role.ASSISTANT else None,
                provider=provider if message.role is Role.ASSISTANT else None,
            )
            for position, message in enumerate(said, conversation.length)
        )
        turn = (*turn[:-1], replace(turn[-1], usage=worked.usage, cost=cost))
        models = tuple(dict.fromkeys([*conversation.models, answer.model]))
        grown = replace(conversation, models=models, updated=now)
        conflict = await self._surely(self.store, grown, turn)
        if conflict is None:
            return grown.id, None
        return await self._beside(grown, turn, conflict)

    async def _surely(
        self, store: ConversationStore, conversation: Conversation, turn: tuple[Said, ...]
    ) -> Conflict | None:
        """Keep a turn; when the way to the store breaks, find out whether it got there."""
        for _ in range(_TRIES - 1):
            try:
                return await store.keep(conversation, turn)
            except InputOutputError as error:
                if not error.retryable:
                    raise
            first = conversation.length
            last = first + len(turn)
            if await store.said(conversation.owner, conversation.id, first, last) == turn:
                return None
        return await store.keep(conversation, turn)

    async def _beside(
        self, conversation: Conversation, turn: tuple[Said, ...], conflict: Conflict
    ) -> tuple[str, str]:
        """Keep an answer that came second on a branch: it was asked for, and paid for."""
        store = self.open_store()
        if conflict.length < conversation.length:
            raise NotFoundError(
                "The conversation was deleted while the model answered, so nothing is kept."
            )
        branch = conversation.branch(new_id(), self.now())
        await store.keep(branch, turn)
        return branch.id, (
            "Somebody else went on with this conversation meanwhile, so this answer stands on a "
            f"branch of its own: {branch.id}."
        )


def _instructed(system: str | None, offer: Offer, schema: Mapping[str, Any] | None) -> str | None:
    """Return the system prompt; a model that cannot be held to a schema is asked to keep to it."""
    if schema is None or offer.capabilities.schema:
        return system
    wish = f"Answer with JSON and nothing else, which fits this schema: {json.dumps(dict(schema))}"
    return f"{system}\n\n{wish}" if system else wish


def _readable(conversation: Conversation) -> Conversation:
    """Return the conversation that holds what was said so far; a new branch is not kept yet."""
    if conversation.parent and conversation.length == conversation.inherited:
        return replace(conversation, id=conversation.parent)
    return conversation


def _explicit(request: Request) -> dict[str, Any]:
    given = {"maxTokens": request.max_tokens, "temperature": request.temperature}
    return {name: value for name, value in given.items() if value is not None}


def _title(message: Message) -> str:
    words = " ".join(message.text.split())
    if not words:
        return "(no words)"
    return words if len(words) <= _TITLE else words[: _TITLE - 1].rstrip() + "…"
