import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any, cast

import pytest

from junto.agent import service
from junto.agent.places import Places
from junto.agent.run import Curfew, Ending, Order
from junto.agent.service import Agent
from junto.domain.errors import InvalidInputError
from junto.domain.sessions import Session
from junto.storage.lazily import Lazily
from junto.storage.sqlite.database import Database
from junto.storage.sqlite.sessions import SqliteSessions
from junto.telemetry.metrics import Metrics

ID = "5f0c1c1e-0d5f-4a39-9d1b-3f9b6a6f2a01"
ORDER = Order(owner="me", content=[], session=ID)


async def test_a_run_whose_session_was_taken_must_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "_HELD", 0.06)
    async with AsyncExitStack() as stack:
        store = SqliteSessions(Lazily(lambda: Database.opened(None), stack))
        await store.begin(Session(id=ID, owner="me", cwd="/", cost=0, created=1, updated=1))
        nowhere = cast("Any", None)
        agent = Agent(house=nowhere, store=store, places=Places(1, 1), metrics=Metrics())
        curfew = Curfew()
        async with agent._held(ORDER, curfew):
            with pytest.raises(InvalidInputError, match="at work already"):
                async with agent._held(ORDER, Curfew()):
                    pass
            later = time.time() + 1000  # as if nothing had been heard of us till then
            assert await store.hold(ID, "another", later + 1000, later)
            async with asyncio.timeout(10):
                await curfew.stop.wait()

        assert curfew.ending is Ending.TAKEN
        assert not await store.hold(ID, "me again", later, later)  # we let go of nothing of theirs
