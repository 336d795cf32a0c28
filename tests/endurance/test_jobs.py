"""Many jobs at once, cancelled, disconnected and killed at random, end exactly once each."""

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
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.clients import HttpClient, Json, clean_environment
from tests.endurance.load_clients import SEED, Server
from tests.fake_model_server import FakeModelServer, fake_model_server
from tests.processes import wait_until

JOB_COUNT = int(os.environ.get("JUNTO_TEST_JOBS", "60"))
FINAL_STATES = {"completed", "failed", "cancelled", "timed_out", "lost"}
_SELECT_ENTRIES = "SELECT sequence, kind, text FROM job_entries"
Query = Callable[[str], list[tuple[Any, ...]]]


@contextlib.contextmanager
def job_server(home: Path, **variables: str) -> Iterator[tuple[Server, FakeModelServer]]:
    with fake_model_server() as upstream:
        model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
        environment = clean_environment(
            home,
            JUNTO_MODELS=json.dumps([model]),
            JUNTO_LIMITS_REQUESTS_PER_MINUTE="100000",
            JUNTO_LIMITS_TOKENS_PER_MINUTE="100000000",
            JUNTO_LIMITS_CONCURRENT="1000",
            JUNTO_HTTP_DRAIN="1",
            JUNTO_JOBS_DRAIN="0",
            **variables,
        )
        server = Server(environment, home)
        server.start()
        try:
            yield server, upstream
        finally:
            server.kill()


def call_tool(server: Server, tool: str, **arguments: Any) -> Json:
    client = HttpClient(server.port)
    reply = client.legacy("tools/call", name=tool, arguments=arguments).json()
    content: Json = reply["result"]["structuredContent"]
    return content


def send_and_disconnect(server: Server, rng: random.Random) -> None:
    """Send a request and disconnect before its answer."""
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": rng.randrange(10**9),
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
        time.sleep(rng.random())  # at any moment before the answer


def run_client(server: Server, number: int) -> str | None:
    """Do one of four things with a job, and return its id if the server gave one."""
    rng = random.Random(f"{SEED} {number}")  # noqa: S311 - must be repeatable
    time.sleep(rng.random())  # spreads the start of the clients
    try:
        match number % 4:
            case 0:
                send_and_disconnect(server, rng)
                return None
            case 1:  # runs to its end
                message = f"wait {rng.choice([0.1, 1, 4])}"
                return str(call_tool(server, "chat", message=message, background=True)["jobId"])
            case 2:
                id_ = str(call_tool(server, "chat", message="drip", background=True)["jobId"])
                time.sleep(rng.random())  # at any moment of its work
                call_tool(server, "job", jobId=id_, action="cancel")
                return id_
            case _:
                call_tool(server, "chat", message="wait 0.3")
                return None
    except (OSError, ValueError, KeyError):  # the server was killed meanwhile
        return None


def check_jobs(query: Query, known_ids: set[str]) -> Counter[str]:
    """Check that every job ended once, with a log without gaps or repeats."""
    jobs = query("SELECT key, id, state, ended FROM jobs")
    assert known_ids <= {id_ for _, id_, _, _ in jobs}
    states = Counter(str(state) for _, _, state, _ in jobs)
    for key, _, state, ended in jobs:
        entries = query(f"{_SELECT_ENTRIES} WHERE job = {key} ORDER BY sequence")
        final = [text for _, kind, text in entries if kind == "state" and text in FINAL_STATES]
        assert [number for number, _, _ in entries] == list(range(1, len(entries) + 1))
        assert final == [state] == [entries[-1][2]]
        assert ended is not None
        written = "".join(text for _, kind, text in entries if kind == "text")
        word_numbers = [int(number) for number in re.findall(r"word(\d+) ", written)]
        assert word_numbers == list(range(len(word_numbers)))
        assert written == "".join(f"word{number} " for number in word_numbers)
    return states


def run_jobs_and_check(server: Server, upstream: FakeModelServer, query: Query) -> None:
    """Run all jobs at once, twice; kill the server only the first time, and check how they end."""
    call_tool(server, "chat", message="wait 0.1")
    with ThreadPoolExecutor(JOB_COUNT) as clients:
        futures = [clients.submit(run_client, server, number) for number in range(JOB_COUNT)]
        # Some clients are done, some wait for an answer and some have not yet asked.
        assert wait_until(lambda: upstream.open and count_done(futures) > JOB_COUNT // 3)
        server.kill()
        known_ids = {id_ for each in futures if (id_ := each.result())}
    server.start()
    call_tool(server, "job")  # the new server marks the lost jobs
    states_after_kill = check_jobs(query, known_ids)
    _wait_until_upstream_is_idle(upstream)

    open_before = _count_open_files(server)
    with ThreadPoolExecutor(JOB_COUNT) as clients:
        known_ids |= {
            id_ for id_ in clients.map(lambda n: run_client(server, n), range(JOB_COUNT)) if id_
        }
    _wait_until_all_ended(server, query)
    _wait_until_upstream_is_idle(upstream)
    new_states = check_jobs(query, known_ids) - states_after_kill

    assert states_after_kill["lost"] > 0
    assert new_states["lost"] == 0
    assert new_states["completed"] > JOB_COUNT // 4
    assert new_states["cancelled"] > JOB_COUNT // 4
    # A few connections to the model and the database stay open for the next call.
    assert _count_open_files(server) <= open_before + 120


def count_done(futures: list[Future[str | None]]) -> int:
    return sum(future.done() for future in futures)


def _wait_until_upstream_is_idle(upstream: FakeModelServer) -> None:
    is_idle = wait_until(lambda: not upstream.open)
    assert is_idle, f"{upstream.open} answers are still being given"


def _wait_until_all_ended(server: Server, query: Query) -> None:
    def have_all_ended() -> bool:
        metrics = HttpClient(server.port).get("/metrics").body
        # A job ends a moment before its end is saved.
        return b'junto_jobs{tool="chat"} 0.0' in metrics and not query(
            "SELECT id FROM jobs WHERE ended IS NULL"
        )

    assert wait_until(have_all_ended), "a job is left"


def _count_open_files(server: Server) -> int:
    assert server.process
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


@pytest.mark.timeout(180)
def test_many_jobs_in_sqlite_end_once_each(tmp_path: Path) -> None:
    def query(sql: str) -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(tmp_path / "data/junto/junto.db")) as database:
            return database.execute(sql).fetchall()

    with job_server(tmp_path) as (server, upstream):
        run_jobs_and_check(server, upstream, query)


@pytest.mark.timeout(180)
async def test_many_jobs_in_postgresql_end_once_each(tmp_path: Path, postgres_url: str) -> None:
    with (
        psycopg.connect(postgres_url, autocommit=True) as database,
        job_server(tmp_path, JUNTO_DATABASE_URL=postgres_url) as (server, upstream),
    ):

        def query(sql: str) -> list[tuple[Any, ...]]:
            return database.execute(sql.encode()).fetchall()

        await asyncio.to_thread(run_jobs_and_check, server, upstream, query)
