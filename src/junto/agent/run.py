"""One run: sends the request to Claude Code, forwards its messages and stops it on demand."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol

from junto.agent.activity import iter_activities
from junto.agent.run_state import ClaudeMessage, RunState, extract_text
from junto.domain.errors import JuntoError
from junto.domain.sessions import Session
from junto.runtime.tasks import Stopped, background_task, run_until, spawn

# Time for the CLI to report its usage after an interrupt.
_INTERRUPT_TIMEOUT_SECONDS = 2.0
# Consecutive reads without a message after which the stream counts as ended.
_MAX_EMPTY_READS = 100

ContentBlocks = list[dict[str, Any]]


PromptCheck = Callable[[Sequence[str]], Awaitable[tuple[str, ...]]]


async def accept_prompt(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the texts as they are: the check of prompts without guards."""
    return tuple(texts)


class Permission(StrEnum):
    """The answer to a permission question."""

    ONCE = "once"
    ALWAYS = "always"
    DENIED = "denied"
    UNAVAILABLE = "nobody"  # no client can be asked


class EndReason(StrEnum):
    """Why a run ended."""

    COMPLETED = "done"
    CANCELLED = "stopped"
    TIMED_OUT = "late"
    LEASE_LOST = "taken"  # another server leases the session now


@dataclass(eq=False, slots=True)
class StopRequest:
    """A request to stop a run; only the first reason is kept."""

    event: asyncio.Event = field(default_factory=asyncio.Event)
    reason: EndReason = EndReason.COMPLETED

    def trigger(self, reason: EndReason) -> None:
        """Request the stop."""
        if not self.event.is_set():
            self.reason = reason
            self.event.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRequest:
    """A request to the agent, and the session to run it in."""

    owner: str
    content: ContentBlocks
    session_id: str | None = None
    fork: bool = False
    # Whether the caller names the working directory.
    overrides_cwd: bool = False


class RunListener(Protocol):
    """The callbacks through which a run talks to its caller."""

    def on_status(self, status: str) -> None:
        """Report the current activity."""
        ...

    def on_text(self, text: str) -> None:
        """Report a piece of the agent's answer."""
        ...

    def on_message(self, message: Mapping[str, Any]) -> None:
        """Forward a complete message."""
        ...

    def on_usage(self, usage: Mapping[str, Any]) -> None:
        """Report the usage so far."""
        ...

    def on_partial(self, result: Mapping[str, Any]) -> None:
        """Save the partial result of a stopped run."""
        ...

    async def ask_permission(self, question: str, /) -> Permission:
        """Ask the user for permission."""
        ...

    def set_inbox(self, inbox: Callable[[str], None] | None) -> None:
        """Set the callback for further user messages; None accepts no more."""
        ...


class SdkClient(Protocol):
    """The part of the SDK's client that a run uses."""

    async def query(self, prompt: AsyncIterator[dict[str, Any]]) -> None:
        """Send user messages."""
        ...

    def receive_messages(self) -> AsyncIterator[Any]:
        """Yield messages until the CLI exits."""
        ...

    async def interrupt(self) -> None:
        """Interrupt the current turn."""
        ...


@dataclass(eq=False, slots=True, kw_only=True)
class Run:
    """Drives the CLI through one request."""

    content: ContentBlocks
    state: RunState
    listener: RunListener
    session: Session
    # Returns the texts of a prompt as they may be sent, or raises a JuntoError.
    check_prompt: PromptCheck = accept_prompt
    _changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _has_ended: bool = field(default=False, init=False)

    def on_message(self, message: ClaudeMessage) -> None:
        """Update the state from a message of the CLI and notify the listener."""
        redacted = self.state.receive(message)
        if redacted is not None:
            self._send_message(redacted)
            if text := extract_text(redacted):
                self.listener.on_text(f"{text}\n")
            for status in iter_activities(redacted, self.session.cwd):
                self.listener.on_status(status)
        self._changed.set()

    def report_error(self, error: JuntoError) -> None:
        """Send an error to the listener: what ended the run, or why a message was not sent."""
        message = {"type": "error", "error": error.message, "code": error.code}
        redacted = self.state.receive(message)
        if redacted is not None:
            self._send_message(redacted, level="error")

    def _send_message(self, message: ClaudeMessage, **extra: str) -> None:
        self.listener.on_message(
            {
                "type": "claude_code_message",
                "sessionId": self.session.id,
                "message": message,
                "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "sequence": self.state.message_count,
                **extra,
            }
        )

    async def drive(self, client: SdkClient, stop_request: StopRequest) -> EndReason:
        """Send the request, wait until the run is done or stopped, and return why it ended."""
        async with background_task(self._drain_messages(client)):
            try:
                await run_until(stop_request.event, self._send_and_wait(client))
            except Stopped:
                await self._interrupt(client)
            finally:
                self.listener.set_inbox(None)
        return stop_request.reason

    async def _send_and_wait(self, client: SdkClient) -> None:
        """Send the request, and wait until all messages are answered or the CLI exits."""
        await self._send_content(client, self.content, self._register_message())
        self.listener.set_inbox(lambda text: self._forward_text(client, text))
        while not (self.state.is_complete or self._has_ended):
            self._changed.clear()
            await self._changed.wait()

    async def _drain_messages(self, client: SdkClient) -> None:
        """Read the SDK's messages until the CLI exits.

        Their content is ignored: the transport has already passed each one to `on_message`.
        """
        empty_reads = 0
        while empty_reads < _MAX_EMPTY_READS:
            empty_reads += 1
            # The SDK raises on a message it cannot parse, and reading can go on. It also raises
            # when the CLI exits; the next read then finishes normally.
            with contextlib.suppress(Exception):
                async for _ in client.receive_messages():
                    empty_reads = 0
                break
        self._has_ended = True
        self._changed.set()

    async def _interrupt(self, client: SdkClient) -> None:
        """Interrupt the CLI and wait briefly for the result that reports its usage."""
        previous_count = self.state.result_count
        with contextlib.suppress(Exception):  # the launcher ends the process in any case
            async with asyncio.timeout(_INTERRUPT_TIMEOUT_SECONDS):
                await client.interrupt()
                while self.state.result_count == previous_count and not self._has_ended:
                    self._changed.clear()
                    await self._changed.wait()

    def _forward_text(self, client: SdkClient, text: str) -> None:
        spawn(self._check_and_send(client, text, self._register_message()))

    async def _check_and_send(self, client: SdkClient, text: str, message_id: str) -> None:
        """Send a further message, or report why the guards refuse it; the run goes on."""
        try:
            [checked] = await self.check_prompt([text])
        except JuntoError as error:
            self.report_error(error)
            self.state.forget_message(message_id)
            self._changed.set()
            return
        await self._send_content(client, [{"type": "text", "text": checked}], message_id)

    def _register_message(self) -> str:
        message_id = str(uuid.uuid4())
        self.state.expect_message(message_id)
        return message_id

    async def _send_content(
        self, client: SdkClient, content: ContentBlocks, message_id: str
    ) -> None:
        async def stream_prompt() -> AsyncIterator[dict[str, Any]]:
            yield {
                "type": "user",
                "uuid": message_id,
                "message": {"role": "user", "content": content},
                "parent_tool_use_id": None,
            }

        with contextlib.suppress(Exception):  # the CLI has exited; _drain_messages notices
            await client.query(stream_prompt())
