"""A model that uses tools: asked again with what they gave, until it has its answer."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Protocol

from junto.domain.errors import ModelError
from junto.domain.ids import new_id
from junto.domain.messages import Message, Role, ToolCall, ToolResult
from junto.domain.questions import Answer, Event, Finished, Question, StopReason, ToolSpec, Usage
from junto.providers.provider import Provider

MOST_ROUNDS = 10
_AT_ONCE = 8
_MOST_SHOWN = 4000
_FENCED = re.compile(
    r"^```(?:json)?\s*(.*?)\s*```$|^<tool_call>\s*(.*?)\s*</tool_call>$", re.DOTALL
)


class Toolbox(Protocol):
    """The tools that a model may use on behalf of one caller."""

    def specs(self) -> tuple[ToolSpec, ...]:
        """Return what the model is told of them."""
        ...

    async def use(self, call: ToolCall) -> ToolResult:
        """Use one, and return what came of it; a failure is a result too."""
        ...

    def shown(self, name: str) -> str:
        """Return the name of a tool as people know it; models take no dots in names."""
        ...


@dataclass(frozen=True, slots=True)
class Worked:
    """The answer in the end, and what was said and done on the way to it."""

    answer: Answer
    between: tuple[Message, ...] = ()
    usages: tuple[tuple[str, Usage], ...] = ()

    @property
    def usage(self) -> Usage:
        """Return what all rounds took together."""
        totals = [usage for _, usage in self.usages]
        return Usage(
            **{
                name: sum(getattr(usage, name) for usage in totals)
                for name in Usage.__dataclass_fields__
            }
        )


@dataclass(frozen=True, slots=True)
class ToolLoop:
    """Asks a model, runs the tools it asks for side by side, and asks again."""

    council: Provider
    most_rounds: int = MOST_ROUNDS

    async def stream(
        self, question: Question, toolbox: Toolbox | None
    ) -> AsyncGenerator[Event | Worked]:
        """Yield what the model says in all rounds, and what was `Worked` out at the end.

        Raises:
            ModelError: it would go on using tools for ever; what was done so far is told.
            JuntoError: the model could not answer.
        """
        specs = toolbox.specs() if toolbox else ()
        known = {spec.name for spec in specs}
        between: list[Message] = []
        usages: list[tuple[str, Usage]] = []
        for _ in range(self.most_rounds):
            asked = replace(question, messages=(*question.messages, *between), tools=specs)
            answer: Answer | None = None
            async with aclosing(self.council.stream(asked)) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        answer = event.answer
                    else:
                        yield event
            if answer is None:
                raise ModelError("The model said nothing.", retryable=True)
            usages.append((answer.model, answer.usage))
            answer = _spoken_calls(answer, known)
            calls = [part for part in answer.message.parts if isinstance(part, ToolCall)]
            if toolbox is None or not calls:
                yield Worked(answer, tuple(between), tuple(usages))
                return
            results = await _side_by_side(toolbox, calls)
            between += [answer.message, Message(Role.USER, tuple(results))]
        raise ModelError(
            f"Tool loop exceeded max iterations: the model asked for tools {self.most_rounds} "
            "times and gave no answer. Ask for less at once, or another model.",
            facts={"toolCalls": made_calls(between, toolbox)},
        )


async def _side_by_side(toolbox: Toolbox, calls: list[ToolCall]) -> list[ToolResult]:
    places = asyncio.Semaphore(_AT_ONCE)

    async def use(call: ToolCall) -> ToolResult:
        async with places:
            return await toolbox.use(call)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(use(call)) for call in calls]
    return [task.result() for task in tasks]


def made_calls(
    between: list[Message] | tuple[Message, ...], toolbox: Toolbox | None
) -> list[dict[str, Any]]:
    """Return which tools were used, and whether each did what it should."""
    shown = toolbox.shown if toolbox else str
    failed = {
        part.call_id
        for message in between
        for part in message.parts
        if isinstance(part, ToolResult) and part.is_error
    }
    return [
        {"name": shown(part.name), "arguments": _brief(part.arguments), "ok": part.id not in failed}
        for message in between
        for part in message.parts
        if isinstance(part, ToolCall)
    ]


def _brief(arguments: Mapping[str, Any]) -> Any:
    """Return arguments for the caller to see, unless they are more than anybody would read."""
    try:
        text = json.dumps(dict(arguments))
    except (ValueError, RecursionError):
        return "(too deep to show)"
    return dict(arguments) if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]} …"


def _spoken_calls(answer: Answer, known: set[str]) -> Answer:
    """Take a call for one that a small model has only printed."""
    if not known or any(isinstance(part, ToolCall) for part in answer.message.parts):
        return answer
    call = _printed(answer.message.text.strip(), known)
    if call is None:
        return answer
    message = Message(Role.ASSISTANT, (call,))
    return replace(answer, message=message, stop=StopReason.TOOL_USE)


def _printed(text: str, known: set[str]) -> ToolCall | None:
    if found := _FENCED.match(text):
        text = found[1] or found[2] or ""
    if not text.startswith(("{", "[")):
        return None
    try:
        printed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(printed, list) and len(printed) == 1:
        printed = printed[0]
    match printed:
        case {"name": str(name), "arguments": dict(arguments)} if name in known:
            return ToolCall(new_id(), name, arguments)
        case {"name": str(name), "parameters": dict(arguments)} if name in known:
            return ToolCall(new_id(), name, arguments)
        case _:
            return None


def total(costs: list[Decimal | None]) -> Decimal | None:
    """Return what all of it costs, if that is known of each."""
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if known and len(known) == len(costs) else None
