"""Runs of Claude Code stopped in eight ways at random moments: nothing of them is left."""

import json
import os
import random
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agent.harness import LONG, bash, facts, on_http, on_stdio, processes, query, says, steps
from tests.clients import HttpClient, Json, StdioClient, notification, request
from tests.endurance.harness import SEED
from tests.server_upstream import ServedUpstream, served_upstream

# Eight ways, seven times each; more by hand.
TIMES = int(os.environ.get("JUNTO_TEST_STOPS", "7"))
PATIENCE = 10.0
# Longer than a start takes, so that some are stopped before and some after it.
LATEST = 2.0

Stop = Callable[[StdioClient | HttpClient, str, float], None]


@pytest.fixture
def upstream() -> Iterator[ServedUpstream]:
    with served_upstream() as upstream:
        yield upstream


def work(mark: str) -> Json:
    return {"prompt": steps(bash(LONG.format(mark=mark)), says("done"))}


def gone(*marks: str) -> float:
    """Wait until no process has any of these marks, and return how long that took."""
    began = time.monotonic()
    while left := processes(*marks):
        took = time.monotonic() - began
        assert took < PATIENCE, [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in left]
        time.sleep(0.02)  # other processes end them
    return time.monotonic() - began


def ended(client: StdioClient | HttpClient, *marks: str) -> None:
    """Wait until the latest run is over, and see that nothing of it is left."""
    began = time.monotonic()
    while facts(client, "job")["jobs"][0]["state"] in ("queued", "running"):
        assert time.monotonic() - began < PATIENCE, "it would not end"
        time.sleep(0.02)  # it is another process that ends it
    assert gone(*marks) < PATIENCE - (time.monotonic() - began)


def moments(way: str) -> Iterator[tuple[str, float]]:
    chance = random.Random(f"{SEED} {way}")  # noqa: S311 - to be repeated
    for number in range(TIMES):
        yield f"{way}-{os.getpid()}-{number}", chance.random() * LATEST


def checked(client: StdioClient | HttpClient, expected: str) -> None:
    """See that each run has ended as it should, and that what it said is kept."""
    jobs = facts(client, "job")["jobs"]
    messages = 0
    for each in jobs[:TIMES]:
        assert each["state"] == expected, each
        events = facts(client, "job", jobId=each["jobId"], action="events")["events"]
        assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
        assert events[-1]["data"] == expected
        told = [event["data"]["sequence"] for event in events if event["kind"] == "message"]
        assert told == list(range(1, len(told) + 1))
        messages += len(told)
    assert len(jobs) >= TIMES
    assert messages, "all were stopped before they began"


def call(arguments: Json, number: int) -> Json:
    params = {"name": "claude_code_query", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def hung(client: HttpClient, body: Json) -> socket.socket:
    """Ask over HTTP, and return the connection with nothing read."""
    data = json.dumps(body).encode()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        "MCP-Protocol-Version: 2025-06-18\r\n"
        f"Accept: application/json, text/event-stream\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    connection = socket.create_connection(("127.0.0.1", client.port), 20)
    connection.sendall(head.encode() + data)
    return connection


@pytest.mark.feature("F122", "F123", "F124", "F249")
def test_cancelled_on_stdio(tmp_path: Path, upstream: ServedUpstream) -> None:
    with on_stdio(tmp_path, upstream) as client:
        for number, (mark, moment) in enumerate(moments("notice"), start=100):
            params = {"name": "claude_code_query", "arguments": work(mark)}
            client.send(request(number, "tools/call", **params))
            time.sleep(moment)  # at any moment of its work
            client.send(notification("notifications/cancelled", requestId=number))
            ended(client, mark, str(tmp_path))
        checked(client, "cancelled")


def test_cancelled_over_http(tmp_path: Path, upstream: ServedUpstream) -> None:
    with on_http(tmp_path, upstream) as (client, _):
        for number, (mark, moment) in enumerate(moments("http"), start=100):
            with hung(client, call(work(mark), number)):
                time.sleep(moment)  # at any moment of its work
                wish = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
                body = wish | {"params": {"requestId": number}}
                assert client.post(body, **{"MCP-Protocol-Version": "2025-06-18"}).status == 202
                ended(client, mark, str(tmp_path))
        checked(client, "cancelled")


def test_hung_up_on(tmp_path: Path, upstream: ServedUpstream) -> None:
    with on_http(tmp_path, upstream) as (client, _):
        for number, (mark, moment) in enumerate(moments("gone"), start=100):
            with hung(client, call(work(mark), number)):
                time.sleep(moment)  # at any moment of its work
            ended(client, mark, str(tmp_path))
        checked(client, "cancelled")


def test_cancelled_as_a_job(tmp_path: Path, upstream: ServedUpstream) -> None:
    with on_http(tmp_path, upstream) as (client, _):
        for mark, moment in moments("job"):
            id_ = query(client, background=True, **work(mark))["jobId"]
            time.sleep(moment)  # at any moment of its work
            facts(client, "job", jobId=id_, action="cancel")
            ended(client, mark, str(tmp_path))
        checked(client, "cancelled")


@pytest.mark.feature("F127", "F135")
def test_out_of_time(tmp_path: Path, upstream: ServedUpstream) -> None:
    with on_stdio(tmp_path, upstream) as client:
        for mark, moment in moments("late"):
            options = {"timeoutMs": 200 + moment * 1000}
            late = query(client, options=options, **work(mark))
            ended(client, mark, str(tmp_path))
            assert late["code"] == "TimeoutError"
            assert late["messages"]
            assert late["messages"][-1]["type"] == "error"
            assert not late["result"]["success"]
        checked(client, "timed_out")


def test_out_of_money(tmp_path: Path, upstream: ServedUpstream) -> None:
    with on_stdio(tmp_path, upstream) as client:
        for mark, _ in moments("money"):
            started = bash(LONG.format(mark=mark).rpartition("&")[0] + "& echo started")
            prompt = steps(started, bash("echo more"), says("done"))
            poor = query(client, prompt, options={"maxBudgetUsd": 0.0002})
            ended(client, mark, str(tmp_path))
            assert poor["code"] == "BudgetExceeded"
            assert poor["usage"]["costUsd"] > 0
            assert poor["messages"]
        checked(client, "failed")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_server_is_ended(
    tmp_path: Path, upstream: ServedUpstream, number: signal.Signals
) -> None:
    states = set()
    for mark, moment in moments(number.name):
        with on_stdio(tmp_path, upstream) as client:
            id_ = query(client, background=True, **work(mark))["jobId"]
            time.sleep(moment)  # at any moment of its work
            client.process.send_signal(number)
            client.process.wait(30)
        gone(mark, str(tmp_path))
        with on_stdio(tmp_path, upstream) as client:
            ended = facts(client, "job", jobId=id_, action="result")
        states.add(ended["state"])

    assert states == {"lost" if number is signal.SIGKILL else "cancelled"}
    # What was killed at the very moment of making its folder is cleared up by the next.
    with on_stdio(tmp_path, upstream) as client:
        query(client, steps(says("done")))
    assert not list((tmp_path / "data" / "junto" / "agent").iterdir())
