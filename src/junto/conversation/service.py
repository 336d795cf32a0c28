"""Conversations with models: load the history, fit it to the model, ask, and save the turn."""

import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from junto.conversation.context import ContextBuilder
from junto.conversation.schemas import parse_answer
from junto.conversation.tool_loop import Toolbox, ToolLoop, ToolLoopResult, sum_costs
from junto.domain.completions import Answer, Effort, Event, Question, Usage
from junto.domain.conversations import Conflict, Conversation, ConversationStore, StoredMessage
from junto.domain.errors import (
    CapacityExceededError,
    InputOutputError,
    InvalidInputError,
    ModelError,
    NotFoundError,
)
from junto.domain.ids import new_id, normalize_id
from junto.domain.limits import RateLimit, RateLimiter, RateReservation
from junto.domain.messages import Message, Role
from junto.domain.token_estimates import (
    estimate_message_tokens,
    estimate_question_tokens,
    estimate_text_tokens,
)
from junto.domain.usage import RequestOrigin
from junto.providers.catalog.catalog import Catalog, ModelSpec
from junto.providers.provider import Provider
from junto.runtime.tasks import run_to_completion
from junto.settings.schema import AnswersSettings
from junto.telemetry.logs import Log

_reasoning_log = Log.get("reasoning")

_MAX_TITLE_CHARS = 60
# For models whose context window is not known.
_DEFAULT_CONTEXT_WINDOW = 32_768
# Token estimates are rough, so a part of the window is left unused.
_MAX_WINDOW_FRACTION = 0.9
_TOUCH_INTERVAL_SECONDS = 60.0
_MAX_SAVE_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A message to a model; None means the value of the conversation or of the settings."""

    message: Message
    owner: str
    conversation_id: str | None = None
    # Whether an unknown id starts a new conversation with that id.
    create_if_missing: bool = False
    model_id: str | None = None
    system: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    reasoning: Effort | None = None
    schema: Mapping[str, Any] | None = None
    seed: int | None = None
    # Name of the calling tool, for usage records.
    tool: str = ""
    # Tools offered to the model, if it supports them.
    toolbox: Toolbox | None = None


@dataclass(frozen=True, slots=True)
class RequestSent:
    """The question is sent to the model; `tokens` is an estimate of its size."""

    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The complete answer, and the conversation that it was saved in."""

    answer: Answer
    conversation_id: str | None
    cost: Decimal | None
    data: Any = None
    notice: str | None = None
    # The model's tool calls and their results.
    tool_messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversations:
    """Answers messages within conversations; without a store, each is answered on its own."""

    provider: Provider
    catalog: Catalog
    answer_settings: AnswersSettings
    store: ConversationStore | None
    context_builder: ContextBuilder | None
    # Limits how often one conversation may be continued.
    rate_limiter: RateLimiter | None = None
    rate: RateLimit | None = None
    now: Callable[[], float] = time.time

    async def reply(self, request: ChatRequest) -> AsyncGenerator[Event | RequestSent | Reply]:
        """Stream the model's answer, then yield a `Reply` once the turn is saved.

        Raises:
            NotFoundError: the conversation or the model does not exist.
            JuntoError: the model could not answer; nothing is saved.
        """
        conversation, model_spec, notice = await self._resolve(request)
        await self._check_rate(conversation)
        question = await self._build_question(conversation, model_spec, request)
        yield RequestSent(estimate_question_tokens(question) - question.max_tokens)
        toolbox = request.toolbox if model_spec.capabilities.tools else None
        result: ToolLoopResult | None = None
        async with aclosing(ToolLoop(self.provider).stream(question, toolbox)) as events:
            async for event in events:
                if isinstance(event, ToolLoopResult):
                    result = event
                else:
                    yield event
        if result is None:
            raise ModelError("The model said nothing.", retryable=True)
        if thinking := result.answer.message.thinking:
            _reasoning_log.debug("thought", model=result.answer.model, text=thinking)
        data = await parse_answer(result.answer.message.text, request.schema)
        cost = sum_costs([self._compute_cost(model, usage) for model, usage in result.usages])
        # Not cancellable: a turn is saved completely or not at all.
        saved_id, conflict = await run_to_completion(
            self._save_turn(conversation, request.message, result, cost)
        )
        yield Reply(
            answer=replace(result.answer, usage=result.usage),
            conversation_id=saved_id,
            cost=cost,
            data=data,
            notice=conflict or notice,
            tool_messages=result.tool_messages,
        )

    async def _check_rate(self, conversation: Conversation) -> None:
        """Enforce the rate limit of a conversation.

        Raises:
            CapacityExceededError: the limit is reached.
        """
        if self.rate_limiter and self.rate:
            # A branch shares the limit of its parent.
            key = f"conversation:{conversation.owner}:{conversation.parent or conversation.id}"
            wait = await self.rate_limiter.acquire(key, 0, self.rate)
            if not isinstance(wait, RateReservation):
                raise CapacityExceededError(
                    f"This conversation is gone on with too often; there is room in {wait:.0f} s.",
                    retry_after=wait,
                )

    async def find(self, owner: str, conversation_id: str) -> Conversation:
        """Return a conversation, and record that it was used.

        Raises:
            NotFoundError: the conversation does not exist.
        """
        store = self.require_store()
        conversation = await store.find(owner, normalize_id(conversation_id))
        if conversation is None:
            raise NotFoundError(
                f"There is no conversation {conversation_id[:80]}. `list_conversations` shows "
                "which there are; without an id a new one begins."
            )
        if conversation.updated < self.now() - _TOUCH_INTERVAL_SECONDS:
            await store.touch(owner, conversation.id, self.now())
        return conversation

    async def fork(
        self, owner: str, conversation_id: str, length: int | None = None
    ) -> Conversation:
        """Return a new branch that shares the first `length` messages, or all of them.

        Raises:
            NotFoundError: the conversation does not exist.
            InvalidInputError: the conversation has fewer messages.
        """
        conversation = await self.find(owner, conversation_id)
        if length is not None and length > conversation.length:
            raise InvalidInputError(
                f"This conversation has {conversation.length} messages, no more."
            )
        branch = conversation.branch(new_id(), self.now(), length)
        await self.require_store().save_turn(branch, ())
        return branch

    def require_store(self) -> ConversationStore:
        """Return the conversation store.

        Raises:
            InvalidInputError: conversations are disabled.
        """
        if self.store is None:
            raise InvalidInputError(
                "Conversations are switched off here (conversations.enabled), so nothing is "
                "remembered. Ask without an id."
            )
        return self.store

    async def _resolve(self, request: ChatRequest) -> tuple[Conversation, ModelSpec, str | None]:
        """Return the existing, branched or new conversation, its model, and a notice, if any."""
        conversation, notice = await self._find_existing(request)
        model_spec = self.catalog.find(
            request.model_id or (conversation.model if conversation else None)
        )
        if conversation is None:
            conversation_id = (
                normalize_id(request.conversation_id) if request.conversation_id else new_id()
            )
            if self.store:  # fail early: an answer that cannot be saved still costs
                await self.store.find(request.owner, conversation_id)
            conversation = Conversation(
                id=conversation_id,
                owner=request.owner,
                model=model_spec.id,
                title=_build_title(request.message),
                system=self.answer_settings.system,
                settings=_collect_overrides(request),
                created=self.now(),
            )
        elif conversation.model != model_spec.id:
            conversation = conversation.branch(new_id(), self.now(), model=model_spec.id)
        if request.system is not None:
            conversation = replace(conversation, system=request.system)
        return conversation, model_spec, notice

    async def _find_existing(self, request: ChatRequest) -> tuple[Conversation | None, str | None]:
        if request.conversation_id is None:
            return None, None
        try:
            return await self.find(request.owner, request.conversation_id), None
        except NotFoundError:
            if not request.create_if_missing:
                raise
            return None, "There was no such session, so a new one begins under this id."

    async def _build_question(
        self, conversation: Conversation, model_spec: ModelSpec, request: ChatRequest
    ) -> Question:
        overrides = {**conversation.settings, **_collect_overrides(request)}
        max_tokens = int(overrides.get("maxTokens") or self.answer_settings.max_tokens)
        temperature = overrides.get("temperature", self.answer_settings.temperature)
        history: tuple[Message, ...] = ()
        if self.context_builder and conversation.length:
            window = self.catalog.describe(model_spec).context_window or _DEFAULT_CONTEXT_WINDOW
            reserved = (
                max_tokens
                + estimate_text_tokens(conversation.system)
                + estimate_message_tokens(request.message)
            )
            history_tokens = int(window * _MAX_WINDOW_FRACTION) - reserved
            history = await self.context_builder.build(
                _resolve_history_source(conversation), model_spec.route.provider, history_tokens
            )
        return Question(
            model=model_spec.id,
            messages=(*history, request.message),
            max_tokens=max_tokens,
            system=_build_system_prompt(conversation.system, model_spec, request.schema),
            temperature=temperature,
            reasoning=request.reasoning,
            schema=request.schema,
            seed=request.seed,
            origin=RequestOrigin(request.owner, request.tool),
        )

    def _compute_cost(self, model: str, usage: Usage) -> Decimal | None:
        price = self.catalog.describe(self.catalog.find(model)).price
        return price.cost(usage) if price else None

    async def _save_turn(
        self,
        conversation: Conversation,
        user_message: Message,
        result: ToolLoopResult,
        cost: Decimal | None,
    ) -> tuple[str | None, str | None]:
        """Save the turn in one transaction; return the conversation id and a notice, if any."""
        if self.store is None:
            return None, None
        now, answer = self.now(), result.answer
        provider = self.catalog.find(answer.model).route.provider
        messages = (
            user_message,
            *result.tool_messages,
            Message(Role.ASSISTANT, answer.message.parts),
        )
        turn = tuple(
            StoredMessage(
                position=position,
                message=message,
                at=now,
                model=answer.model if message.role is Role.ASSISTANT else None,
                provider=provider if message.role is Role.ASSISTANT else None,
            )
            for position, message in enumerate(messages, conversation.length)
        )
        turn = (*turn[:-1], replace(turn[-1], usage=result.usage, cost=cost))
        models = tuple(dict.fromkeys([*conversation.models, answer.model]))
        updated = replace(conversation, models=models, updated=now)
        conflict = await self._save_with_retry(self.store, updated, turn)
        if conflict is None:
            return updated.id, None
        return await self._save_on_branch(updated, turn, conflict)

    async def _save_with_retry(
        self, store: ConversationStore, conversation: Conversation, turn: tuple[StoredMessage, ...]
    ) -> Conflict | None:
        """Save a turn; after a connection error, check first whether it was saved."""
        for _ in range(_MAX_SAVE_ATTEMPTS - 1):
            try:
                return await store.save_turn(conversation, turn)
            except InputOutputError as error:
                if not error.retryable:
                    raise
            first = conversation.length
            last = first + len(turn)
            if await store.load_messages(conversation.owner, conversation.id, first, last) == turn:
                return None
        return await store.save_turn(conversation, turn)

    async def _save_on_branch(
        self, conversation: Conversation, turn: tuple[StoredMessage, ...], conflict: Conflict
    ) -> tuple[str, str]:
        """Save an answer on a new branch, because the conversation was continued meanwhile.

        Raises:
            NotFoundError: the conversation was deleted meanwhile.
        """
        store = self.require_store()
        if conflict.length < conversation.length:
            raise NotFoundError(
                "The conversation was deleted while the model answered, so nothing is kept."
            )
        branch = conversation.branch(new_id(), self.now())
        await store.save_turn(branch, turn)
        return branch.id, (
            "Somebody else went on with this conversation meanwhile, so this answer stands on a "
            f"branch of its own: {branch.id}."
        )


def _build_system_prompt(
    system: str | None, model_spec: ModelSpec, schema: Mapping[str, Any] | None
) -> str | None:
    """Return the system prompt; models without schema support get the schema in it."""
    if schema is None or model_spec.capabilities.schema:
        return system
    instruction = (
        f"Answer with JSON and nothing else, which fits this schema: {json.dumps(dict(schema))}"
    )
    return f"{system}\n\n{instruction}" if system else instruction


def _resolve_history_source(conversation: Conversation) -> Conversation:
    """Return the conversation that stores the history; a new branch is not saved yet."""
    if conversation.parent and conversation.length == conversation.inherited:
        return replace(conversation, id=conversation.parent)
    return conversation


def _collect_overrides(request: ChatRequest) -> dict[str, Any]:
    overrides = {"maxTokens": request.max_tokens, "temperature": request.temperature}
    return {name: value for name, value in overrides.items() if value is not None}


def _build_title(message: Message) -> str:
    words = " ".join(message.text.split())
    if not words:
        return "(no words)"
    return words if len(words) <= _MAX_TITLE_CHARS else words[: _MAX_TITLE_CHARS - 1].rstrip() + "…"
