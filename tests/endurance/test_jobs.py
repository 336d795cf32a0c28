"""Two hundred jobs at once, cancelled, hung up on and killed at random: each ends exactly once."""

import asyncio
import contextlib
import json
import os
import random
import re
import socket
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.clients import HttpClient, Json, clean_environment
from tests.endurance.harness import SEED, Server
from tests.server_upstream import ServedUpstream, served_upstream

JOBS = int(os.environ.get("JUNTO_TEST_JOBS", "200"))
FINAL = {"completed", "failed", "cancelled", "timed_out", "lost"}
_ENTRIES = "SELECT sequence, kind, text FROM job_entries"
Rows = Callable[[str], list[tuple[Any, ...]]]


@contextlib.contextmanager
def storm(home: Path, **more: str) -> Iterator[tuple[Server, ServedUpstream]]:
    with served_upstream() as upstream:
        model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
        environment = clean_environment(
            home,
            JUNTO_MODELS=json.dumps([model]),
            JUNTO_LIMITS_REQUESTS_PER_MINUTE="100000",
            JUNTO_LIMITS_TOKENS_PER_MINUTE="100000000",
            JUNTO_LIMITS_CONCURRENT="1000",
            JUNTO_HTTP_DRAIN="1",
            JUNTO_JOBS_DRAIN="0",
            **more,
        )
        server = Server(environment, home)
        server.start()
        try:
            yield server, upstream
        finally:
            server.kill()


def call(server: Server, tool: str, **arguments: Any) -> Json:
    client = HttpClient(server.port)
    reply = client.legacy("tools/call", name=tool, arguments=arguments).json()
    facts: Json = reply["result"]["structuredContent"]
    return facts


def hang_up(server: Server, chance: random.Random) -> None:
    """Ask, and be gone before the answer."""
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": chance.randrange(10**9),
            "method": "tools/call",
            "params": {"name": "chat", "arguments": {"message": "wait 2"}},
        }
    ).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), 20) as connection:
        connection.sendall(head.encode() + body)
        time.sleep(chance.random())  # a client's patience


def one_of_many(server: Server, number: int) -> str | None:
    """Do something with one job, and return its id if it was told."""
    chance = random.Random(f"{SEED} {number}")  # noqa: S311 - to be repeated
    time.sleep(chance.random())  # not all at the very same moment
    try:
        match number % 4:
            case 0:
                hang_up(server, chance)
                return None
            case 1:  # goes on by itself
                message = f"wait {chance.choice([0.1, 1, 4])}"
                return str(call(server, "chat", message=message, background=True)["jobId"])
            case 2:
                id_ = str(call(server, "chat", message="drip", background=True)["jobId"])
                time.sleep(chance.random())  # at any moment of its work
                call(server, "job", jobId=id_, action="cancel")
                return id_
            case _:
                call(server, "chat", message="wait 0.3")
                return None
    except (OSError, ValueError, KeyError):  # the server was killed meanwhile
        return None


def check(rows: Rows, told: set[str]) -> Counter[str]:
    """See that every job has ended once, with a log without gap or repeat."""
    jobs = rows("SELECT key, id, state, ended FROM jobs")
    assert told <= {id_ for _, id_, _, _ in jobs}
    states = Counter(str(state) for _, _, state, _ in jobs)
    for key, _, state, ended in jobs:
        entries = rows(f"{_ENTRIES} WHERE job = {key} ORDER BY sequence")
        final = [text for _, kind, text in entries if kind == "state" and text in FINAL]
        assert [number for number, _, _ in entries] == list(range(1, len(entries) + 1))
        assert final == [state] == [entries[-1][2]]
        assert ended is not None
        words = "".join(text for _, kind, text in entries if kind == "text")
        spoken = [int(number) for number in re.findall(r"word(\d+) ", words)]
        assert spoken == list(range(len(spoken)))
        assert words == "".join(f"word{number} " for number in spoken)
    return states


def weather(server: Server, upstream: ServedUpstream, rows: Rows) -> None:
    """Run all jobs at once, kill the server in the middle, and look when all is quiet."""
    call(server, "chat", message="wait 0.1")
    with ThreadPoolExecutor(JOBS) as clients:
        first = [clients.submit(one_of_many, server, number) for number in range(JOBS)]
        time.sleep(0.8)  # so that some have ended, some run, and some are just being asked for
        server.kill()
        told = {id_ for each in first if (id_ := each.result())}
    server.start()
    call(server, "job")  # the next start says what was lost
    lost = check(rows, told)
    _quiet(upstream)

    # Again, and this time nobody is killed.
    before = _descriptors(server)
    with ThreadPoolExecutor(JOBS) as clients:
        told |= {id_ for id_ in clients.map(lambda n: one_of_many(server, n), range(JOBS)) if id_}
    _none_left(server, rows)
    _quiet(upstream)
    ended = check(rows, told) - lost

    assert lost["lost"] > 0
    assert ended["lost"] == 0
    assert ended["completed"] > JOBS // 4
    assert ended["cancelled"] > JOBS // 4
    # What is kept open for the next call, to the model and to the database, is a handful.
    assert _descriptors(server) <= before + 120


def _quiet(upstream: ServedUpstream) -> None:
    end = time.monotonic() + 20
    while upstream.open:
        assert time.monotonic() < end, f"{upstream.open} answers are still being given"
        time.sleep(0.05)  # the upstream is in another thread, and tells nobody


def _none_left(server: Server, rows: Rows) -> None:
    end = time.monotonic() + 30
    while (
        b'junto_jobs{tool="chat"} 0.0' not in HttpClient(server.port).get("/metrics").body
        # A job has ended a moment before that is written down.
        or rows("SELECT id FROM jobs WHERE ended IS NULL")
    ):
        assert time.monotonic() < end, "a job is left"
        time.sleep(0.1)  # another process brings it about


def _descriptors(server: Server) -> int:
    assert server.process
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


@pytest.mark.timeout(180)
def test_two_hundred_jobs_in_a_file_end_once_each(tmp_path: Path) -> None:
    def rows(sql: str) -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(tmp_path / "data/junto/junto.db")) as database:
            return database.execute(sql).fetchall()

    with storm(tmp_path) as (server, upstream):
        weather(server, upstream, rows)


@pytest.mark.timeout(180)
async def test_two_hundred_jobs_in_postgresql_end_once_each(
    tmp_path: Path, postgres_url: str
) -> None:
    with (
        psycopg.connect(postgres_url, autocommit=True) as database,
        storm(tmp_path, JUNTO_DATABASE_URL=postgres_url) as (server, upstream),
    ):

        def rows(sql: str) -> list[tuple[Any, ...]]:
            return database.execute(sql.encode()).fetchall()

        await asyncio.to_thread(weather, server, upstream, rows)
