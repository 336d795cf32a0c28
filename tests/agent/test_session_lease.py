import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any, cast

import pytest

from junto.agent.run import AgentRequest, EndReason, StopRequest
from junto.agent.run_queue import RunQueue
from junto.agent.service import AgentService
from junto.domain.errors import InvalidInputError
from junto.domain.sessions import Session
from junto.runtime.lazy import Lazy
from junto.storage.sqlite.database import SqliteDatabase
from junto.storage.sqlite.sessions import SqliteSessions
from junto.telemetry.metrics import Metrics

SESSION_ID = "5f0c1c1e-0d5f-4a39-9d1b-3f9b6a6f2a01"
REQUEST = AgentRequest(owner="me", content=[], session_id=SESSION_ID)


async def test_a_run_that_loses_its_session_lease_is_stopped() -> None:
    async with AsyncExitStack() as stack:
        store = SqliteSessions(Lazy(lambda: SqliteDatabase.open(None), stack))
        await store.save(Session(id=SESSION_ID, owner="me", cwd="/", cost=0, created=1, updated=1))
        unused = cast("Any", None)
        agent = AgentService(
            launcher=unused,
            store=store,
            queue=RunQueue(1, 1),
            metrics=Metrics(),
            lease_seconds=0.06,
        )
        stop_request = StopRequest()
        async with agent._lease_session(REQUEST, stop_request):
            with pytest.raises(InvalidInputError, match="at work already"):
                async with agent._lease_session(REQUEST, StopRequest()):
                    pass
            later = time.time() + 1000  # as if our lease had expired by then
            assert await store.acquire_lease(SESSION_ID, "another", later + 1000, later)
            async with asyncio.timeout(10):
                await stop_request.event.wait()

        assert stop_request.reason is EndReason.LEASE_LOST
        assert not await store.acquire_lease(
            SESSION_ID, "me again", later, later
        )  # we did not release the other's lease
