"""The tool loop: asks a model, runs the tools it calls, and repeats until it answers."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Protocol

from junto.domain.completions import (
    Answer,
    AnswerEvent,
    Event,
    Question,
    StopReason,
    ToolSpec,
    Usage,
)
from junto.domain.errors import ModelError
from junto.domain.ids import new_id
from junto.domain.messages import Message, Role, ToolCall, ToolResult
from junto.providers.provider import Provider

MAX_ROUNDS = 10
_MAX_PARALLEL_CALLS = 8
_MAX_ARGUMENT_CHARS = 4000
_CALL_FENCE = re.compile(
    r"^```(?:json)?\s*(.*?)\s*```$|^<tool_call>\s*(.*?)\s*</tool_call>$", re.DOTALL
)


class Toolbox(Protocol):
    """The tools that a model may use on behalf of one caller."""

    def specs(self) -> tuple[ToolSpec, ...]:
        """Return the tool specs to send to the model."""
        ...

    async def use(self, call: ToolCall) -> ToolResult:
        """Run a tool and return its result; errors are results, too."""
        ...

    def display_name(self, name: str) -> str:
        """Return the user-visible name of a tool; models do not accept dots in names."""
        ...


@dataclass(frozen=True, slots=True)
class ToolLoopResult:
    """The final answer, the tool calls and results before it, and the usage of each round."""

    answer: Answer
    tool_messages: tuple[Message, ...] = ()
    usages: tuple[tuple[str, Usage], ...] = ()

    @property
    def usage(self) -> Usage:
        """Return the total usage of all rounds."""
        totals = [usage for _, usage in self.usages]
        return Usage(
            **{
                name: sum(getattr(usage, name) for usage in totals)
                for name in Usage.__dataclass_fields__
            }
        )


@dataclass(frozen=True, slots=True)
class ToolLoop:
    """Asks a model, runs the tools it calls in parallel, and asks again with their results."""

    provider: Provider
    max_rounds: int = MAX_ROUNDS

    async def stream(
        self, question: Question, toolbox: Toolbox | None
    ) -> AsyncGenerator[Event | ToolLoopResult]:
        """Yield the events of all rounds, and a `ToolLoopResult` at the end.

        Raises:
            ModelError: the model exceeds `max_rounds`; `details` lists its tool calls.
            JuntoError: the model could not answer.
        """
        specs = toolbox.specs() if toolbox else ()
        tool_names = {spec.name for spec in specs}
        tool_messages: list[Message] = []
        usages: list[tuple[str, Usage]] = []
        for _ in range(self.max_rounds):
            next_question = replace(
                question, messages=(*question.messages, *tool_messages), tools=specs
            )
            answer: Answer | None = None
            async with aclosing(self.provider.stream(next_question)) as events:
                async for event in events:
                    if isinstance(event, AnswerEvent):
                        answer = event.answer
                    else:
                        yield event
            if answer is None:
                raise ModelError("The model said nothing.", retryable=True)
            usages.append((answer.model, answer.usage))
            answer = _recover_printed_call(answer, tool_names)
            calls = [part for part in answer.message.parts if isinstance(part, ToolCall)]
            if toolbox is None or not calls:
                yield ToolLoopResult(answer, tuple(tool_messages), tuple(usages))
                return
            results = await _run_in_parallel(toolbox, calls)
            tool_messages += [answer.message, Message(Role.USER, tuple(results))]
        raise ModelError(
            f"Tool loop exceeded max iterations: the model asked for tools {self.max_rounds} "
            "times and gave no answer. Ask for less at once, or another model.",
            details={"toolCalls": summarize_tool_calls(tool_messages, toolbox)},
        )


async def _run_in_parallel(toolbox: Toolbox, calls: list[ToolCall]) -> list[ToolResult]:
    semaphore = asyncio.Semaphore(_MAX_PARALLEL_CALLS)

    async def use(call: ToolCall) -> ToolResult:
        async with semaphore:
            return await toolbox.use(call)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(use(call)) for call in calls]
    return [task.result() for task in tasks]


def summarize_tool_calls(
    messages: list[Message] | tuple[Message, ...], toolbox: Toolbox | None
) -> list[dict[str, Any]]:
    """Return the name, the arguments and the success of each tool call."""
    display_name = toolbox.display_name if toolbox else str
    failed = {
        part.call_id
        for message in messages
        for part in message.parts
        if isinstance(part, ToolResult) and part.is_error
    }
    return [
        {
            "name": display_name(part.name),
            "arguments": _truncate_arguments(part.arguments),
            "ok": part.id not in failed,
        }
        for message in messages
        for part in message.parts
        if isinstance(part, ToolCall)
    ]


def _truncate_arguments(arguments: Mapping[str, Any]) -> Any:
    """Return tool arguments for the caller, as truncated text if they are too long."""
    try:
        text = json.dumps(dict(arguments))
    except (ValueError, RecursionError):
        return "(too deep to show)"
    return (
        dict(arguments) if len(text) <= _MAX_ARGUMENT_CHARS else f"{text[:_MAX_ARGUMENT_CHARS]} …"
    )


def _recover_printed_call(answer: Answer, tool_names: set[str]) -> Answer:
    """Replace a tool call that a small model printed as text by a real one."""
    if not tool_names or any(isinstance(part, ToolCall) for part in answer.message.parts):
        return answer
    call = _parse_printed_call(answer.message.text.strip(), tool_names)
    if call is None:
        return answer
    message = Message(Role.ASSISTANT, (call,))
    return replace(answer, message=message, stop_reason=StopReason.TOOL_USE)


def _parse_printed_call(text: str, tool_names: set[str]) -> ToolCall | None:
    if fenced := _CALL_FENCE.match(text):
        text = fenced[1] or fenced[2] or ""
    if not text.startswith(("{", "[")):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, list) and len(data) == 1:
        data = data[0]
    match data:
        case {"name": str(name), "arguments": dict(arguments)} if name in tool_names:
            return ToolCall(new_id(), name, arguments)
        case {"name": str(name), "parameters": dict(arguments)} if name in tool_names:
            return ToolCall(new_id(), name, arguments)
        case _:
            return None


def sum_costs(costs: list[Decimal | None]) -> Decimal | None:
    """Return the total cost, or None if one of the costs is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if known and len(known) == len(costs) else None
