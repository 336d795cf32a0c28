"""How a run ends when the SDK's client behaves oddly."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from junto.agent.course import Course
from junto.agent.run import Curfew, Ending, Permission, Run
from junto.domain.sessions import Session

SESSION = Session(id="s", owner="me", cwd="/", cost=0, created=1, updated=1)


class Silent:
    """Listens to nothing, and agrees to nothing."""

    def notes(self, note: str) -> None: ...
    def says(self, words: str) -> None: ...
    def tells(self, facts: Mapping[str, Any]) -> None: ...
    def uses(self, usage: Mapping[str, Any]) -> None: ...
    def keeps(self, facts: Mapping[str, Any]) -> None: ...
    def listens(self, take: Any) -> None: ...
    async def permits(self, _question: str) -> Permission:
        return Permission.NOBODY


class Odd:
    """A client that fails so often before it goes on, and then ends or fails for ever."""

    def __init__(self, failures: int, *, ends: bool) -> None:
        self.failures, self.ends, self.asked = failures, ends, 0

    async def query(self, prompt: AsyncIterator[dict[str, Any]]) -> None:
        async for _ in prompt:
            pass

    async def receive_messages(self) -> AsyncIterator[Any]:
        self.asked += 1
        if self.asked <= self.failures or not self.ends:
            raise ValueError("nobody understands this message")
        yield "one"

    async def interrupt(self) -> None: ...


@pytest.mark.feature("F249")
@pytest.mark.parametrize("client", [Odd(3, ends=True), Odd(0, ends=False)], ids=["mends", "never"])
async def test_what_cannot_be_parsed_does_not_end_a_run_and_an_end_does(client: Odd) -> None:
    run = Run(content=[], course=Course(1, True, str), voice=Silent(), session=SESSION)  # noqa: FBT003

    async with asyncio.timeout(10):
        assert await run.driven(client, Curfew()) is Ending.DONE

    assert client.asked == (4 if client.ends else 100)
