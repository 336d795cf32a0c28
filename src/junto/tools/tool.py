"""A tool: an input model, a result model, an async function, and what to know before calling it."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from mcp.server.connection import allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
)
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from junto.domain.conversations import LOCAL_OWNER
from junto.jobs.running import Running

LOCAL_CALLER = LOCAL_OWNER


class Group(StrEnum):
    """The groups that can be switched off as one."""

    MODELS = "models"
    MEMORY = "memory"
    KNOWLEDGE = "knowledge"
    AGENT = "agent"
    KIT = "kit"
    OPS = "ops"


class Arguments(BaseModel):
    """What a tool takes: camelCase on the wire, snake_case here, and nothing else."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        defer_build=True,  # a start should not wait for what the first call needs
    )


class LongArguments(Arguments):
    """What a tool takes whose calls may be long."""

    background: bool = Field(default=False, description="Answer at once with a job's id.")


class Result(BaseModel):
    """What a tool gives: structured content, and a text that stands on its own."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, defer_build=True
    )

    def text(self) -> str:
        """Return the result for a reader who sees nothing else."""
        return json.dumps(self.facts())

    def facts(self) -> dict[str, Any]:
        """Return the result for a program."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def wire(self, *, failed: bool = False) -> dict[str, Any]:
        """Return the result as the protocol sends it."""
        return {
            "content": [{"type": "text", "text": self.text()}],
            "structuredContent": self.facts(),
            "isError": failed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call under way: who asked, and the way back to them while it runs."""

    context: ServerRequestContext[Any, Any]
    params: CallToolRequestParams
    caller: str = LOCAL_CALLER
    job: Running | None = None

    @property
    def work(self) -> Running:
        """Return the job that this call is, which every call of a long tool is."""
        if self.job is None:
            raise TypeError(f"{self.params.name} is not registered as a tool that may be long")
        return self.job

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Tell the client how far the call is, if it asked to know."""
        await self.context.session.report_progress(done, total, message or None)

    async def log(self, facts: Mapping[str, Any]) -> None:
        """Send the client a message of the log, if it takes any."""
        level = facts.get("level", "info")
        if level in allowed_log_levels(self.context.protocol_version, self.context.meta):
            params = LoggingMessageNotificationParams(level=level, data=json.dumps(facts))
            await self.context.session.send_notification(
                LoggingMessageNotification(params=params),
                related_request_id=self.context.request_id,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What a client may assume before it asks its user: the worst, unless a tool says otherwise."""

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True

    def wire(self) -> dict[str, bool]:
        """Return the annotations as the protocol spells them, without what it takes for granted."""
        if self.read_only:  # to those, the next two mean nothing
            hints = {"readOnlyHint": True}
        else:
            hints = {"destructiveHint": self.destructive}
            if self.idempotent:
                hints["idempotentHint"] = True
        if not self.open_world:
            hints["openWorldHint"] = False
        return hints


HARMLESS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)

A = TypeVar("A", bound=Arguments)
# A tool may also build the protocol's own result, for what a model cannot say: pictures, questions.
Answer = Result | CallToolResult | InputRequiredResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[A]):
    """Something that a client, or a model, can call by name."""

    name: str
    title: str
    description: str
    group: Group
    arguments: type[A]
    run: Callable[[A, Call], Awaitable[Answer]]
    result: type[Result] | None = None
    hints: Hints = Hints()
    # Whether a call may take longer than a client waits; it is a job then.
    long: bool = False
