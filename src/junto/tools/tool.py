"""What a tool is: argument and result models, a function, and everything declared about it."""

import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
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

from junto.domain.conversations import LOCAL_OWNER
from junto.jobs.handle import JobHandle
from junto.settings.enums import ToolAccess
from junto.tools.base import Arguments, Result

LOCAL_CALLER = LOCAL_OWNER
# All unknown names are counted as one: a caller could make them up without end.
UNKNOWN_TOOL = "unknown"


class Group(StrEnum):
    """Groups of tools, which can be switched off as one, in the order in which clients see them."""

    MODELS = "models"
    MEMORY = "memory"
    KNOWLEDGE = "knowledge"
    AGENT = "agent"
    OPS = "ops"
    KIT = "kit"


@dataclass(eq=False, slots=True)
class CallOutcome:
    """How a call ended, reported once: with the request, or with the job that goes on after it."""

    # Whether the job reports it.
    is_deferred: bool = False
    _observers: list[Callable[[BaseException | None], None]] = field(default_factory=list)

    def observe(self, observer: Callable[[BaseException | None], None]) -> None:
        """Call `observer` at the end, with the error or with None."""
        self._observers.append(observer)

    def report(self, error: BaseException | None) -> None:
        """Tell all observers; one that fails must not cost the caller a result."""
        observers, self._observers = self._observers, []
        for observer in reversed(observers):
            with contextlib.suppress(Exception):
                observer(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """One call in progress: who called which tool, and how to reach the client meanwhile."""

    context: ServerRequestContext[Any, Any]
    params: CallToolRequestParams
    caller: str = LOCAL_CALLER
    # None for a name that no tool has; the name it is logged and counted under.
    tool: "Tool[Any] | None" = None
    tool_name: str = UNKNOWN_TOOL
    # Validated; None before that.
    arguments: Any = None
    # The job that runs the call, or within which a model makes it.
    job: JobHandle | None = None
    outcome: CallOutcome = field(default_factory=CallOutcome)

    @property
    def job_handle(self) -> JobHandle:
        """Return the job of this call, which every call of a long-running tool has."""
        if self.job is None:
            raise TypeError(f"{self.tool_name} is not declared as long-running")
        return self.job

    async def report_progress(
        self, progress: float, total: float | None = None, message: str = ""
    ) -> None:
        """Send progress, if the client asked for it."""
        await self.context.session.report_progress(progress, total, message or None)

    async def send_log(self, event: Mapping[str, Any]) -> None:
        """Send a log message, if the client accepts its level."""
        level = event.get("level", "info")
        if level in allowed_log_levels(self.context.protocol_version, self.context.meta):
            params = LoggingMessageNotificationParams(level=level, data=json.dumps(event))
            await self.context.session.send_notification(
                LoggingMessageNotification(params=params),
                related_request_id=self.context.request_id,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """Annotations of a tool. The defaults are the most cautious ones."""

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True

    def to_wire(self) -> dict[str, bool]:
        """Return the annotations as the protocol spells them, without its own defaults."""
        if self.read_only:  # the next two have no meaning then
            hints = {"readOnlyHint": True}
        else:
            hints = {"destructiveHint": self.destructive}
            if self.idempotent:
                hints["idempotentHint"] = True
        if not self.open_world:
            hints["openWorldHint"] = False
        return hints


READ_ONLY_HINTS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)

A = TypeVar("A", bound=Arguments)
# A tool may also return the protocol's own results, for images and for questions to the client.
ToolOutput = Result | CallToolResult | InputRequiredResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[A]):
    """Something that a client, or a model, can call by name: all that is known about it."""

    name: str
    title: str
    description: str
    group: Group
    arguments: type[A]
    run: Callable[[A, CallContext], Awaitable[ToolOutput]]
    result: type[Result] | None = None
    hints: Hints = Hints()
    # The access to this machine that a client needs to see it.
    access: ToolAccess = ToolAccess.NONE
    # Whether a call may take longer than a client waits, and runs as a job for that reason.
    is_long_running: bool = False
    # Its sentence in the server's instructions; empty where the description says enough.
    instructions: str = ""
    # Whether a model may call it while it answers. Not what asks models or manages jobs.
    for_models: bool = True
    # Whether it is in the profile `council`: models, conversations, search, jobs and usage.
    for_council: bool = False
    # Whether Claude Code may call it during a run.
    for_agent: bool = False
