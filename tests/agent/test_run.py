"""How a run ends when the SDK's client misbehaves."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from junto.agent.run import EndReason, Permission, Run, StopRequest
from junto.agent.run_state import RunState
from junto.domain.sessions import Session

SESSION = Session(id="s", owner="me", cwd="/", cost=0, created=1, updated=1)


class SilentListener:
    """Ignores all events and grants no permission."""

    def on_status(self, status: str) -> None: ...
    def on_text(self, text: str) -> None: ...
    def on_message(self, message: Mapping[str, Any]) -> None: ...
    def on_usage(self, usage: Mapping[str, Any]) -> None: ...
    def on_partial(self, result: Mapping[str, Any]) -> None: ...
    def set_inbox(self, inbox: Any) -> None: ...
    async def ask_permission(self, _question: str) -> Permission:
        return Permission.UNAVAILABLE


class FlakyClient:
    """Fails `failures` reads, then ends its stream normally; or fails every read."""

    def __init__(self, failures: int, *, recovers: bool) -> None:
        self.failures, self.recovers, self.reads = failures, recovers, 0

    async def query(self, prompt: AsyncIterator[dict[str, Any]]) -> None:
        async for _ in prompt:
            pass

    async def receive_messages(self) -> AsyncIterator[Any]:
        self.reads += 1
        if self.reads <= self.failures or not self.recovers:
            raise ValueError("nobody understands this message")
        yield "one"

    async def interrupt(self) -> None: ...


@pytest.mark.feature("F249")
@pytest.mark.parametrize(
    "client",
    [FlakyClient(3, recovers=True), FlakyClient(0, recovers=False)],
    ids=["recovers", "never recovers"],
)
async def test_a_run_ends_when_the_stream_ends_or_keeps_failing(
    client: FlakyClient,
) -> None:
    run = Run(content=[], state=RunState(1, True, str), listener=SilentListener(), session=SESSION)  # noqa: FBT003

    async with asyncio.timeout(10):
        assert await run.drive(client, StopRequest()) is EndReason.COMPLETED

    assert client.reads == (4 if client.recovers else 100)
