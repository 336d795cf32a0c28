"""Long-running tool calls over MCP, with a fake model server that takes its time."""

import contextlib
import itertools
import json
import signal
import socket
import sqlite3
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.clients import (
    ENVELOPE,
    HttpClient,
    Json,
    StdioClient,
    clean_environment,
    http_server,
    junto_command,
    notification,
    request,
    stdio_server,
)
from tests.fake_model_server import FakeModelServer, fake_model_server
from tests.processes import wait_until

TASKS = "io.modelcontextprotocol/tasks"
TASKS_META: Json = {
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}},
}


@pytest.fixture
def upstream() -> Iterator[FakeModelServer]:
    with fake_model_server() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def idle_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StdioClient]:
    """A client of a server that has no jobs; the tests that share it start none."""
    home = tmp_path_factory.mktemp("idle")
    with fake_model_server() as upstream, stdio_client(home, upstream) as client:
        yield client


def environment(home: Path, upstream: FakeModelServer, **more: str) -> dict[str, str]:
    a = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k-1"}
    b = {"id": "b", "baseUrl": f"{upstream.url}/v1", "apiKey": "k-2"}
    return clean_environment(
        home,
        JUNTO_MODELS=json.dumps([a, b]),
        JUNTO_JOBS_DRAIN="0",
        JUNTO_LIMITS_REQUESTS_PER_MINUTE="100000",
        JUNTO_LIMITS_TOKENS_PER_MINUTE="100000000",
        JUNTO_LIMITS_CONCURRENT="1000",
        JUNTO_STDIO_DRAIN="1",
        JUNTO_HTTP_DRAIN="1",
        **more,
    )


@contextlib.contextmanager
def stdio_client(home: Path, upstream: FakeModelServer, **more: str) -> Iterator[StdioClient]:
    with stdio_server(junto_command("mcp"), environment(home, upstream, **more), home) as client:
        yield client


@contextlib.contextmanager
def http_client(home: Path, upstream: FakeModelServer, **more: str) -> Iterator[HttpClient]:
    command = junto_command("serve", "--port", "0")
    with http_server(command, environment(home, upstream, **more), home) as (client, _):
        yield client


def call_tool(client: StdioClient | HttpClient, tool: str, **arguments: Any) -> Json:
    """Call a tool and return its structured content."""
    if isinstance(client, HttpClient):
        message = client.legacy("tools/call", name=tool, arguments=arguments).json()
    else:
        message = client.ask(1, "tools/call", name=tool, arguments=arguments)
    facts: Json = message["result"]["structuredContent"]
    return facts


def numbered_words(count: int) -> str:
    return "".join(f"word{number} " for number in range(count))


def test_a_background_call_answers_with_its_job(tmp_path: Path, upstream: FakeModelServer) -> None:
    with stdio_client(tmp_path, upstream) as client:
        arguments = {"message": "long", "background": True}
        reply = client.ask(1, "tools/call", name="chat", arguments=arguments)
        facts = reply["result"]["structuredContent"]
        id_ = facts["jobId"]
        text = reply["result"]["content"][0]["text"]
        done = call_tool(client, "job", jobId=id_, action="result", waitSeconds=30)

    assert not reply["result"]["isError"]
    assert facts["state"] in ("queued", "running")
    assert id_ in text
    assert done["state"] == "completed"
    assert done["result"]["response"] == numbered_words(20)
    assert done["usage"] == {"inputTokens": 10, "outputTokens": 5}


def test_a_call_that_takes_too_long_continues_as_a_job(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with stdio_client(tmp_path, upstream, JUNTO_JOBS_LONG_CALL_SECONDS="2") as client:
        call_tool(client, "query", prompt="say warm")
        facts = call_tool(client, "query", prompt="wait 4")
        result = call_tool(client, "job", jobId=facts["jobId"], action="result", waitSeconds=30)
        short = call_tool(client, "chat", message="say hi")

    assert facts["state"] == "running"
    assert facts["partial"].startswith("word0 word1 ")
    assert len(facts["partial"]) < len(numbered_words(200))
    assert result["result"]["response"] == numbered_words(200)
    assert short["response"] == "hi"


def test_after_a_crash_finished_jobs_are_kept_and_running_ones_are_lost(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with stdio_client(tmp_path, upstream) as client:
        finished_id = call_tool(client, "chat", message="long", background=True)["jobId"]
        call_tool(client, "job", jobId=finished_id, waitSeconds=30)
        running_id = call_tool(client, "chat", message="drip", background=True)["jobId"]
        assert wait_until(
            lambda: call_tool(client, "job", jobId=running_id, action="result").get("response")
        )
        # Everything up to half a second ago is saved.
        assert wait_until(
            lambda: len(call_tool(client, "job", jobId=running_id, action="events")["events"]) > 2
        )
        client.process.kill()

    with stdio_client(tmp_path, upstream) as client:
        finished = call_tool(client, "job", jobId=finished_id, action="result")
        lost = call_tool(client, "job", jobId=running_id, action="result")
        events = call_tool(client, "job", jobId=running_id, action="events")["events"]

    assert finished["result"]["response"] == numbered_words(20)
    assert lost["state"] == "lost"
    assert lost["error"]["retryable"]
    assert lost["response"].startswith("word0 word1 ")
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["data"] == "lost"


def test_a_running_job_is_cancelled_and_saved_when_the_server_stops(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with stdio_client(tmp_path, upstream) as client:
        id_ = call_tool(client, "chat", message="drip", background=True)["jobId"]
        assert wait_until(
            lambda: call_tool(client, "job", jobId=id_, action="result").get("response")
        )
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(30) == 0

    assert wait_until(lambda: upstream.hung_up)
    with stdio_client(tmp_path, upstream) as client:
        facts = call_tool(client, "job", jobId=id_, action="result")
    assert facts["state"] == "cancelled"
    assert "server was stopped" in facts["error"]["message"]
    assert facts["response"].startswith("word0 ")


def test_a_long_result_is_read_in_pieces(tmp_path: Path, upstream: FakeModelServer) -> None:
    answer = "".join(f"Über {number} 漢字. " for number in range(2000))
    with stdio_client(tmp_path, upstream, JUNTO_JOBS_REPLY_BYTES="10000") as client:
        reply = client.ask(1, "tools/call", name="chat", arguments={"message": f"say {answer}"})
        facts = reply["result"]["structuredContent"]
        text, cursor, pieces = facts["text"], facts["cursor"], 1
        while cursor is not None:
            arguments = {"jobId": facts["jobId"], "action": "result", "cursor": cursor}
            page = client.ask(2, "tools/call", name="job", arguments=arguments)
            assert len(json.dumps(page["result"]["content"], ensure_ascii=False).encode()) < 11_000
            piece = page["result"]["structuredContent"]
            text, cursor, pieces = text + piece["response"], piece.get("cursor"), pieces + 1

    assert len(json.dumps(reply["result"]["content"], ensure_ascii=False).encode()) < 11_000
    assert text.startswith(answer)
    assert text[len(answer) :].startswith("\n\n[conversation ")
    assert pieces > 3
    assert facts["conversationId"]
    assert "cursor" in facts["notice"]


def test_without_the_job_tool_no_call_becomes_a_job(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    variables = {"JUNTO_JOBS_LONG_CALL_SECONDS": "0.2", "JUNTO_TOOLS_DISABLED": "job"}
    with stdio_client(tmp_path, upstream, **variables) as client:
        whole = call_tool(client, "chat", message="wait 1")
        refused = call_tool(client, "chat", message="x", background=True)

    assert whole["response"] == numbered_words(50)
    assert refused["code"] == "ValidationError"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"jobId": "0" * 32}, "NotFound"),
        ({"jobId": "x", "action": "cancel"}, "NotFound"),
        ({"action": "result"}, "ValidationError"),
        ({"jobId": "x", "action": "fly"}, "ValidationError"),
        ({"jobId": "x", "cursor": -1}, "ValidationError"),
        ({"jobId": "x", "waitSeconds": 1000}, "ValidationError"),
    ],
)
def test_an_invalid_job_request_is_an_error_result(
    idle_client: StdioClient, arguments: Json, code: str
) -> None:
    assert call_tool(idle_client, "job", **arguments)["code"] == code


def test_a_failure_is_reported_by_the_call_and_by_its_job(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with stdio_client(tmp_path, upstream, JUNTO_ANSWERS_MAX_RETRIES="0") as client:
        failed = call_tool(client, "chat", message="fail 401")
        id_ = call_tool(client, "chat", message="cut", background=True)["jobId"]
        result = call_tool(client, "job", jobId=id_, action="result", waitSeconds=30)
        jobs = call_tool(client, "job")["jobs"]

    assert failed["code"] == "AuthenticationFailed"
    assert (result["state"], result["error"]["code"]) == ("failed", "NetworkError")
    assert [job["state"] for job in jobs] == ["failed", "failed"]


def test_an_answer_that_exceeds_the_time_limit_keeps_its_partial_text(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with stdio_client(tmp_path, upstream, JUNTO_JOBS_TIME_LIMIT="2") as client:
        call_tool(client, "chat", message="say warm")
        facts = call_tool(client, "chat", message="drip")
        job = call_tool(client, "job", jobId=facts["jobId"])

    assert facts["code"] == "TimeoutError"
    assert facts["partial"].startswith("word0 ")
    assert job["state"] == "timed_out"
    assert job["usage"]["estimated"]
    assert job["usage"]["outputTokens"] > 1


def test_progress_is_sent_at_least_every_five_seconds_and_always_increases(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with stdio_client(tmp_path, upstream, JUNTO_JOBS_TIME_LIMIT="11") as client:
        call_tool(client, "chat", message="say warm")
        params = {"arguments": {"message": "hush"}, "_meta": {"progressToken": "t"}}
        client.send(request(1, "tools/call", name="chat", **params))
        times, messages = [time.monotonic()], []
        while "result" not in (message := client.receive()):
            times.append(time.monotonic())
            messages.append(message["params"])

    steps = [update["progress"] for update in messages]
    assert steps == sorted(set(steps))
    assert len(steps) >= 2
    assert max(b - a for a, b in itertools.pairwise(times)) < 6  # five, and some slack


# The ways to cancel a call. Each returns the time at which it requested the cancellation.


def _open_stream(client: HttpClient, **extra_headers: str) -> socket.socket:
    """Start a streaming call and return its connection."""
    body = {
        "jsonrpc": "2.0",
        "id": 77,
        "method": "tools/call",
        "params": {
            "name": "chat",
            "arguments": {"message": "drip"},
            "_meta": {"progressToken": "t"},
        },
    }
    data = json.dumps(body).encode()
    headers = {
        "Host": f"127.0.0.1:{client.port}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
        "Content-Length": str(len(data)),
    } | extra_headers
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connection = socket.create_connection(("127.0.0.1", client.port), 20)
    connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + data)
    return connection


def _cancel_by_notification_on_stdio(client: Any, upstream: FakeModelServer) -> float:
    client.send(request(77, "tools/call", name="chat", arguments={"message": "drip"}))
    assert wait_until(lambda: upstream.open)
    requested_at = time.monotonic()
    client.send(notification("notifications/cancelled", requestId=77))
    return requested_at


def _cancel_by_notification_on_http(client: Any, upstream: FakeModelServer) -> float:
    connection = _open_stream(client)
    assert wait_until(lambda: upstream.open)
    body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}
    requested_at = time.monotonic()
    assert client.post(body, **{"MCP-Protocol-Version": "2025-06-18"}).status == 202
    rest = b""
    while piece := connection.recv(65536):
        rest += piece
        if rest.endswith(b"0\r\n\r\n"):
            break
    connection.close()
    assert b'"id":77' not in rest.replace(b" ", b"")  # a cancelled call has no answer
    return requested_at


def _cancel_by_hanging_up(client: Any, upstream: FakeModelServer) -> float:
    connection = _open_stream(client)
    assert wait_until(lambda: upstream.open)
    requested_at = time.monotonic()
    connection.close()
    return requested_at


def _cancel_with_the_job_tool(client: Any, upstream: FakeModelServer) -> float:
    id_ = call_tool(client, "chat", message="drip", background=True)["jobId"]
    assert wait_until(lambda: upstream.open)
    requested_at = time.monotonic()
    assert call_tool(client, "job", jobId=id_, action="cancel")["state"] == "cancelled"
    return requested_at


def _cancel_with_the_task(client: Any, upstream: FakeModelServer) -> float:
    reply = client.modern(
        "tools/call",
        name="chat",
        arguments={"message": "drip", "background": True},
        _meta=ENVELOPE | TASKS_META,
    ).json()["result"]
    assert wait_until(lambda: upstream.open)
    assert reply["resultType"] == "task"
    requested_at = time.monotonic()
    params = {"taskId": reply["taskId"], "_meta": ENVELOPE | TASKS_META}
    assert "status" not in client.modern("tasks/cancel", **params).json()["result"]
    assert client.modern("tasks/get", **params).json()["result"]["status"] == "cancelled"
    return requested_at


CANCELLATIONS: dict[str, Any] = {
    "notification on stdio": (stdio_client, _cancel_by_notification_on_stdio, {}),
    "notification on http": (http_client, _cancel_by_notification_on_http, {}),
    "notification on http, json": (
        http_client,
        _cancel_by_notification_on_http,
        {"JUNTO_HTTP_JSON_ONLY": "true"},
    ),
    "hanging up": (http_client, _cancel_by_hanging_up, {}),
    "hanging up, json": (http_client, _cancel_by_hanging_up, {"JUNTO_HTTP_JSON_ONLY": "true"}),
    "job cancel on stdio": (stdio_client, _cancel_with_the_job_tool, {}),
    "job cancel on http": (http_client, _cancel_with_the_job_tool, {}),
    "tasks/cancel": (http_client, _cancel_with_the_task, {}),
}
TRIES = 5


def _has_hung_up(upstream: FakeModelServer, times: int) -> bool:
    return len(upstream.hung_up) == times


@pytest.mark.parametrize("way", CANCELLATIONS)
def test_cancelling_closes_the_providers_socket_within_200_ms(
    tmp_path: Path, upstream: FakeModelServer, way: str
) -> None:
    open_client, cancel, variables = CANCELLATIONS[way]
    delays: list[float] = []
    with open_client(tmp_path, upstream, **variables) as client:
        call_tool(client, "chat", message="say warm")
        for number in range(1, TRIES + 1):
            requested_at = cancel(client, upstream)
            assert wait_until(partial(_has_hung_up, upstream, number))
            delays.append(upstream.hung_up[-1] - requested_at)
        jobs = call_tool(client, "job")["jobs"][:TRIES]

    assert {job["state"] for job in jobs} == {"cancelled"}
    assert upstream.open == 0
    # The machine may be busy with something else for a moment, but not each time.
    assert min(delays) < 0.2, delays


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("drain", ["600", "0"], ids=["twice", "once"])
def test_a_signal_to_the_http_server_cancels_its_jobs_and_saves_them(
    tmp_path: Path, upstream: FakeModelServer, signal_number: int, drain: str
) -> None:
    logs = {"JUNTO_LOGGING_OUTPUT": "files", "JUNTO_LOGGING_LEVEL": "debug"}
    variables = environment(tmp_path, upstream, **logs) | {"JUNTO_JOBS_DRAIN": drain}
    log = tmp_path / "data" / "junto" / "logs" / "general.log"
    with http_server(junto_command("serve", "--port", "0"), variables, tmp_path) as (
        client,
        process,
    ):
        id_ = call_tool(client, "chat", message="drip", background=True)["jobId"]
        assert wait_until(lambda: upstream.open)
        process.send_signal(signal_number)
        if drain == "600":
            # Logged by uvicorn as its last step; from then on the server waits for jobs only.
            assert wait_until(lambda: "Finished server process" in log.read_text())
            process.send_signal(signal_number)
        process.communicate(timeout=30)
        assert process.returncode == 0

    with stdio_client(tmp_path, upstream) as later:
        assert call_tool(later, "job", jobId=id_)["state"] == "cancelled"


def test_sigterm_after_stdin_was_closed_cancels_running_jobs(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    variables = environment(tmp_path, upstream) | {"JUNTO_JOBS_DRAIN": "600"}
    with stdio_server(junto_command("mcp"), variables, tmp_path, with_coverage=True) as client:
        id_ = call_tool(client, "chat", message="drip", background=True)["jobId"]
        assert wait_until(lambda: upstream.open)
        assert client.process.stdin
        client.process.stdin.close()
        assert client.process.stdout
        # The server closes its output when it waits for jobs only.
        assert client.process.stdout.read() == b""
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(30) == 0

    with stdio_client(tmp_path, upstream) as later:
        assert call_tool(later, "job", jobId=id_)["state"] == "cancelled"


@pytest.mark.parametrize("background", [True, False])
def test_cancelling_while_a_call_becomes_a_job_leaves_no_unknown_job(
    tmp_path: Path, upstream: FakeModelServer, *, background: bool
) -> None:
    calls = 24  # twice each delay
    with stdio_client(tmp_path, upstream, JUNTO_JOBS_LONG_CALL_SECONDS="0.05") as client:
        known_jobs = set()
        for number in range(100, 100 + calls):
            arguments = {"message": "drip", "background": background}
            client.send(request(number, "tools/call", name="chat", arguments=arguments))
            time.sleep((number % 12) / 1000 + (0 if background else 0.045))
            client.send(notification("notifications/cancelled", requestId=number))
        # Every answer to the calls above arrives before this one.
        client.send(request(1, "tools/call", name="current_time", arguments={}))
        while (message := client.receive())["id"] != 1:
            known_jobs.add(message["result"]["structuredContent"]["jobId"])
        assert wait_until(lambda: upstream.open <= len(known_jobs))

        open_requests = upstream.open
    assert wait_until(lambda: upstream.open == 0)

    assert open_requests <= len(known_jobs) < calls


def test_a_cancelled_call_saves_its_turn_only_if_its_job_completed(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    calls = 40  # twice each delay
    with stdio_client(tmp_path, upstream) as client:
        call_tool(client, "chat", message="say warm")
        for number in range(100, 100 + calls):
            arguments = {"message": "say quick"}
            client.send(request(number, "tools/call", name="chat", arguments=arguments))
            time.sleep((number % 20) / 1500)
            client.send(notification("notifications/cancelled", requestId=number))
        client.finish()

    with contextlib.closing(sqlite3.connect(tmp_path / "data/junto/junto.db")) as database:
        [(saved,)] = database.execute("SELECT count(*) FROM conversations").fetchall()
        [(completed,)] = database.execute(
            "SELECT count(*) FROM jobs WHERE state = 'completed'"
        ).fetchall()
    assert saved == completed
    assert completed < calls + 1


def test_a_shutdown_closes_the_providers_socket(tmp_path: Path, upstream: FakeModelServer) -> None:
    with stdio_client(tmp_path, upstream) as client:
        call_tool(client, "chat", message="drip", background=True)
        assert wait_until(lambda: upstream.open)
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(30) == 0

    assert wait_until(lambda: upstream.hung_up)
    assert upstream.open == 0


def test_a_call_on_one_server_is_cancelled_from_another(
    tmp_path: Path, upstream: FakeModelServer, redis_socket: Path
) -> None:
    variables = {"JUNTO_REDIS_URL": f"unix://{redis_socket}"}
    with (
        http_client(tmp_path, upstream, **variables) as first,
        http_client(tmp_path, upstream, **variables) as second,
    ):
        for client in (first, second):  # connects both to Redis
            call_tool(client, "chat", message="say warm")
        connection = _open_stream(first)
        assert wait_until(lambda: upstream.open)
        body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}
        assert second.post(body, **{"MCP-Protocol-Version": "2025-06-18"}).status == 202
        assert wait_until(lambda: len(upstream.hung_up) == 1)
        connection.close()

        id_ = call_tool(first, "chat", message="drip", background=True)["jobId"]
        assert wait_until(lambda: upstream.open)
        requested_at = time.monotonic()
        cancelled = call_tool(second, "job", jobId=id_, action="cancel")
        assert wait_until(lambda: len(upstream.hung_up) == 2)

        assert cancelled["state"] == "cancelled"
        assert upstream.hung_up[-1] - requested_at < 0.9  # without Redis it takes a second


def test_an_ambiguous_cancellation_cancels_neither_call(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with http_client(tmp_path, upstream) as client:
        first, second = _open_stream(client), _open_stream(client)
        assert wait_until(lambda: upstream.open == 2)
        body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}
        client.post(body, **{"MCP-Protocol-Version": "2025-06-18"})
        client.post(body, **{"MCP-Protocol-Version": "2025-06-18", "User-Agent": "another"})
        assert call_tool(client, "chat", message="say hi")["response"] == "hi"

        assert upstream.hung_up == []
        first.close()
        assert wait_until(lambda: len(upstream.hung_up) == 1)
        second.close()
        assert wait_until(lambda: len(upstream.hung_up) == 2)


def test_a_call_ended_by_hanging_up_keeps_its_partial_text(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    with http_client(tmp_path, upstream) as client:
        connection = _open_stream(client)
        assert wait_until(lambda: b"word1 " in connection.recv(65536))
        connection.close()
        assert wait_until(lambda: upstream.hung_up)
        [job] = call_tool(client, "job")["jobs"]
        result = call_tool(client, "job", jobId=job["jobId"], action="result")

    assert result["state"] == "cancelled"
    assert "hung up" in result["error"]["message"]
    assert result["response"].startswith("word0 word1 ")
    assert result["usage"]["estimated"]
