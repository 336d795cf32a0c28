"""Runs of Claude Code that are stopped at random moments, in eight ways, leave nothing behind."""

import json
import os
import random
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agent.claude_code_server import (
    LONG_COMMAND,
    bash,
    call_for_content,
    find_pids,
    http_client,
    run_agent,
    say,
    stdio_client,
    steps,
)
from tests.clients import HttpClient, Json, StdioClient, notification, request
from tests.endurance.load_clients import SEED
from tests.fake_model_server import FakeModelServer, fake_model_server
from tests.processes import command_lines, wait_until

# For a longer run, set the variable.
RUNS_PER_TEST = int(os.environ.get("JUNTO_TEST_STOPS", "2"))
pytestmark = pytest.mark.timeout(60 + 15 * RUNS_PER_TEST)
STOP_TIMEOUT_SECONDS = 10.0
# Longer than a start takes, so that some runs are stopped before it and some after.
MAX_DELAY_SECONDS = 2.0

Stop = Callable[[StdioClient | HttpClient, str, float], None]


@pytest.fixture
def upstream() -> Iterator[FakeModelServer]:
    with fake_model_server() as upstream:
        yield upstream


def agent_arguments(mark: str) -> Json:
    return {"prompt": steps(bash(LONG_COMMAND.format(mark=mark)), say("done"))}


def wait_until_gone(*marks: str, timeout: float = STOP_TIMEOUT_SECONDS) -> None:
    """Wait until no process has any of these marks."""
    is_gone = wait_until(lambda: not find_pids(*marks), timeout)
    assert is_gone, [command_lines().get(pid) for pid in find_pids(*marks)]


def wait_until_ended(client: StdioClient | HttpClient, *marks: str) -> None:
    """Wait until the latest run has ended and none of its processes is left."""
    end = time.monotonic() + STOP_TIMEOUT_SECONDS
    assert wait_until(lambda: has_ended(client), STOP_TIMEOUT_SECONDS), "it would not end"
    wait_until_gone(*marks, timeout=end - time.monotonic())


def has_ended(client: StdioClient | HttpClient) -> bool:
    state = call_for_content(client, "job")["jobs"][0]["state"]
    return state not in ("queued", "running")


def marks_and_delays(way: str) -> Iterator[tuple[str, float]]:
    rng = random.Random(f"{SEED} {way}")  # noqa: S311 - must be repeatable
    for number in range(RUNS_PER_TEST):
        yield f"{way}-{os.getpid()}-{number}", rng.random() * MAX_DELAY_SECONDS


def check_jobs(client: StdioClient | HttpClient, expected: str) -> None:
    """Check that every run ended in the expected state, and that its log is complete."""
    jobs = call_for_content(client, "job")["jobs"]
    message_count = 0
    for each in jobs[:RUNS_PER_TEST]:
        assert each["state"] == expected, each
        events = call_for_content(client, "job", jobId=each["jobId"], action="events")["events"]
        assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
        assert events[-1]["data"] == expected
        sequences = [event["data"]["sequence"] for event in events if event["kind"] == "message"]
        assert sequences == list(range(1, len(sequences) + 1))
        message_count += len(sequences)
    assert len(jobs) >= RUNS_PER_TEST
    assert message_count, "all were stopped before they began"


def tool_call(arguments: Json, number: int) -> Json:
    params = {"name": "claude_code_query", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def send_request(client: HttpClient, body: Json) -> socket.socket:
    """Send a request over HTTP and return the connection without reading from it."""
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
def test_a_run_cancelled_on_stdio_leaves_nothing_behind(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with stdio_client(tmp_path, upstream) as client:
        for number, (mark, delay) in enumerate(marks_and_delays("notice"), start=100):
            params = {"name": "claude_code_query", "arguments": agent_arguments(mark)}
            client.send(request(number, "tools/call", **params))
            time.sleep(delay)  # at any moment of its work
            client.send(notification("notifications/cancelled", requestId=number))
            wait_until_ended(client, mark, str(tmp_path))
        check_jobs(client, "cancelled")


def test_a_run_cancelled_over_http_leaves_nothing_behind(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with http_client(tmp_path, upstream) as (client, _):
        for number, (mark, delay) in enumerate(marks_and_delays("http"), start=100):
            with send_request(client, tool_call(agent_arguments(mark), number)):
                time.sleep(delay)  # at any moment of its work
                cancellation = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
                body = cancellation | {"params": {"requestId": number}}
                assert client.post(body, **{"MCP-Protocol-Version": "2025-06-18"}).status == 202
                wait_until_ended(client, mark, str(tmp_path))
        check_jobs(client, "cancelled")


def test_a_run_whose_client_disconnects_leaves_nothing_behind(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with http_client(tmp_path, upstream) as (client, _):
        for number, (mark, delay) in enumerate(marks_and_delays("gone"), start=100):
            with send_request(client, tool_call(agent_arguments(mark), number)):
                time.sleep(delay)  # at any moment of its work
            wait_until_ended(client, mark, str(tmp_path))
        check_jobs(client, "cancelled")


def test_a_run_cancelled_as_a_job_leaves_nothing_behind(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with http_client(tmp_path, upstream) as (client, _):
        for mark, delay in marks_and_delays("job"):
            id_ = run_agent(client, background=True, **agent_arguments(mark))["jobId"]
            time.sleep(delay)  # at any moment of its work
            call_for_content(client, "job", jobId=id_, action="cancel")
            wait_until_ended(client, mark, str(tmp_path))
        check_jobs(client, "cancelled")


@pytest.mark.feature("F127", "F135")
def test_a_run_that_times_out_leaves_nothing_behind(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with stdio_client(tmp_path, upstream) as client:
        for mark, delay in marks_and_delays("late"):
            options = {"timeoutMs": 200 + delay * 1000}
            content = run_agent(client, options=options, **agent_arguments(mark))
            wait_until_ended(client, mark, str(tmp_path))
            assert content["code"] == "TimeoutError"
            assert content["messages"]
            assert content["messages"][-1]["type"] == "error"
            assert not content["result"]["success"]
        check_jobs(client, "timed_out")


def test_a_run_out_of_budget_leaves_nothing_behind(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with stdio_client(tmp_path, upstream) as client:
        for mark, _ in marks_and_delays("money"):
            start_children = bash(
                LONG_COMMAND.format(mark=mark).rpartition("&")[0] + "& echo started"
            )
            prompt = steps(start_children, bash("echo more"), say("done"))
            content = run_agent(client, prompt, options={"maxBudgetUsd": 0.0002})
            wait_until_ended(client, mark, str(tmp_path))
            assert content["code"] == "BudgetExceeded"
            assert content["usage"]["costUsd"] > 0
            assert content["messages"]
        check_jobs(client, "failed")


@pytest.mark.parametrize("stop_signal", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_whose_server_is_stopped_leaves_nothing_behind(
    tmp_path: Path, upstream: FakeModelServer, stop_signal: signal.Signals
) -> None:
    states = set()
    for mark, delay in marks_and_delays(stop_signal.name):
        with stdio_client(tmp_path, upstream) as client:
            id_ = run_agent(client, background=True, **agent_arguments(mark))["jobId"]
            time.sleep(delay)  # at any moment of its work
            client.process.send_signal(stop_signal)
            client.process.wait(30)
        wait_until_gone(mark, str(tmp_path))
        with stdio_client(tmp_path, upstream) as client:
            job = call_for_content(client, "job", jobId=id_, action="result")
        states.add(job["state"])

    assert states == {"lost" if stop_signal is signal.SIGKILL else "cancelled"}
    # A folder whose server was killed while creating it is removed by the next run.
    with stdio_client(tmp_path, upstream) as client:
        run_agent(client, steps(say("done")))
    assert not list((tmp_path / "data" / "junto" / "agent").iterdir())
