"""Calls that may be long, through the protocol, with a model on loopback that takes its time."""

import contextlib
import itertools
import json
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.clients import (
    ENVELOPE,
    HttpClient,
    Json,
    StdioClient,
    child,
    clean_environment,
    http_server,
    junto,
    notification,
    request,
)
from tests.server_upstream import ServedUpstream, served_upstream

TASKS = "io.modelcontextprotocol/tasks"
DECLARED: Json = {
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}},
}


@pytest.fixture
def upstream() -> Iterator[ServedUpstream]:
    with served_upstream() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StdioClient]:
    """Return a server that has no jobs, and gets none from those who share it."""
    home = tmp_path_factory.mktemp("idle")
    with served_upstream() as upstream, stdio(home, upstream) as client:
        yield client


def environment(home: Path, upstream: ServedUpstream, **more: str) -> dict[str, str]:
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
def stdio(home: Path, upstream: ServedUpstream, **more: str) -> Iterator[StdioClient]:
    with child(junto("mcp"), environment(home, upstream, **more), home) as client:
        yield client


@contextlib.contextmanager
def http(home: Path, upstream: ServedUpstream, **more: str) -> Iterator[HttpClient]:
    command = junto("serve", "--port", "0")
    with http_server(command, environment(home, upstream, **more), home) as (client, _):
        yield client


def called(client: StdioClient | HttpClient, tool: str, **arguments: Any) -> Json:
    """Call a tool and return its structured content."""
    if isinstance(client, HttpClient):
        message = client.legacy("tools/call", name=tool, arguments=arguments).json()
    else:
        message = client.ask(1, "tools/call", name=tool, arguments=arguments)
    facts: Json = message["result"]["structuredContent"]
    return facts


def until(seen: Callable[[], Any], seconds: float = 20) -> Any:
    """Return what there is to see as soon as there is something."""
    end = time.monotonic() + seconds
    while not (found := seen()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)  # another process brings it about
    return found


def words(count: int) -> str:
    return "".join(f"word{number} " for number in range(count))


def test_a_call_in_the_background_answers_with_its_job(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    with stdio(tmp_path, upstream) as client:
        asked = {"message": "long", "background": True}
        handle = client.ask(1, "tools/call", name="chat", arguments=asked)
        facts = handle["result"]["structuredContent"]
        id_ = facts["jobId"]
        text = handle["result"]["content"][0]["text"]
        done = called(client, "job", jobId=id_, action="result", waitSeconds=30)

    assert not handle["result"]["isError"]
    assert facts["state"] in ("queued", "running")
    assert id_ in text
    assert done["state"] == "completed"
    assert done["result"]["response"] == words(20)
    assert done["usage"] == {"inputTokens": 10, "outputTokens": 5}


def test_a_call_that_takes_too_long_goes_on_as_a_job(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    with stdio(tmp_path, upstream, JUNTO_JOBS_LONG_CALL_SECONDS="0.5") as client:
        called(client, "query", prompt="say warm")
        facts = called(client, "query", prompt="wait 2")
        result = called(client, "job", jobId=facts["jobId"], action="result", waitSeconds=30)
        short = called(client, "chat", message="say hi")

    assert facts["state"] == "running"
    assert facts["partial"].startswith("word0 word1 ")
    assert len(facts["partial"]) < len(words(100))
    assert result["result"]["response"] == words(100)
    assert short["response"] == "hi"


def test_what_ended_is_there_after_a_restart_and_what_did_not_is_lost(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    with stdio(tmp_path, upstream) as client:
        done = called(client, "chat", message="long", background=True)["jobId"]
        called(client, "job", jobId=done, waitSeconds=30)
        open_ = called(client, "chat", message="drip", background=True)["jobId"]
        until(lambda: called(client, "job", jobId=open_, action="result").get("response"))
        # Everything up to half a second ago is written down.
        until(lambda: len(called(client, "job", jobId=open_, action="events")["events"]) > 2)
        client.process.kill()

    with stdio(tmp_path, upstream) as client:
        first = called(client, "job", jobId=done, action="result")
        second = called(client, "job", jobId=open_, action="result")
        events = called(client, "job", jobId=open_, action="events")["events"]

    assert first["result"]["response"] == words(20)
    assert second["state"] == "lost"
    assert second["error"]["retryable"]
    assert second["response"].startswith("word0 word1 ")
    assert [each["sequence"] for each in events] == list(range(1, len(events) + 1))
    assert events[-1]["data"] == "lost"


def test_what_runs_when_the_server_is_stopped_is_cancelled_and_kept(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    with stdio(tmp_path, upstream) as client:
        id_ = called(client, "chat", message="drip", background=True)["jobId"]
        until(lambda: called(client, "job", jobId=id_, action="result").get("response"))
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(30) == 0

    until(lambda: upstream.hung_up)
    with stdio(tmp_path, upstream) as client:
        facts = called(client, "job", jobId=id_, action="result")
    assert facts["state"] == "cancelled"
    assert "server was stopped" in facts["error"]["message"]
    assert facts["response"].startswith("word0 ")


def test_a_long_result_is_read_in_pieces(tmp_path: Path, upstream: ServedUpstream) -> None:
    answer = "".join(f"Über {number} 漢字. " for number in range(2000))
    with stdio(tmp_path, upstream, JUNTO_JOBS_REPLY_BYTES="10000") as client:
        reply = client.ask(1, "tools/call", name="chat", arguments={"message": f"say {answer}"})
        facts = reply["result"]["structuredContent"]
        read, cursor, pieces = facts["text"], facts["cursor"], 1
        while cursor is not None:
            asked = {"jobId": facts["jobId"], "action": "result", "cursor": cursor}
            line = client.ask(2, "tools/call", name="job", arguments=asked)
            assert len(json.dumps(line["result"]["content"], ensure_ascii=False).encode()) < 11_000
            piece = line["result"]["structuredContent"]
            read, cursor, pieces = read + piece["response"], piece.get("cursor"), pieces + 1

    assert len(json.dumps(reply["result"]["content"], ensure_ascii=False).encode()) < 11_000
    assert read.startswith(answer)
    assert read[len(answer) :].startswith("\n\n[conversation ")
    assert pieces > 3
    assert facts["conversationId"]
    assert "cursor" in facts["notice"]


def test_without_the_tool_job_nothing_is_handed_over(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    more = {"JUNTO_JOBS_LONG_CALL_SECONDS": "0.2", "JUNTO_TOOLS_DISABLED": "job"}
    with stdio(tmp_path, upstream, **more) as client:
        whole = called(client, "chat", message="wait 1")
        refused = called(client, "chat", message="x", background=True)

    assert whole["response"] == words(50)
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
def test_a_wrong_question_about_a_job_is_answered_in_words(
    idle: StdioClient, arguments: Json, code: str
) -> None:
    assert called(idle, "job", **arguments)["code"] == code


def test_a_failed_job_says_so_and_its_call_too(tmp_path: Path, upstream: ServedUpstream) -> None:
    with stdio(tmp_path, upstream, JUNTO_ANSWERS_MAX_RETRIES="0") as client:
        failed = called(client, "chat", message="fail 401")
        id_ = called(client, "chat", message="cut", background=True)["jobId"]
        told = called(client, "job", jobId=id_, action="result", waitSeconds=30)
        jobs = called(client, "job")["jobs"]

    assert failed["code"] == "AuthenticationFailed"
    assert (told["state"], told["error"]["code"]) == ("failed", "NetworkError")
    assert [job["state"] for job in jobs] == ["failed", "failed"]


def test_an_answer_that_takes_too_long_is_timed_out_with_what_there_was(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    with stdio(tmp_path, upstream, JUNTO_JOBS_TIME_LIMIT="2") as client:
        called(client, "chat", message="say warm")
        facts = called(client, "chat", message="drip")
        told = called(client, "job", jobId=facts["jobId"])

    assert facts["code"] == "TimeoutError"
    assert facts["partial"].startswith("word0 ")
    assert told["state"] == "timed_out"
    assert told["usage"]["estimated"]
    assert told["usage"]["outputTokens"] > 1


def test_progress_comes_at_least_every_five_seconds_and_always_counts_up(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    with stdio(tmp_path, upstream, JUNTO_JOBS_TIME_LIMIT="11") as client:
        called(client, "chat", message="say warm")
        asked = {"arguments": {"message": "hush"}, "_meta": {"progressToken": "t"}}
        client.send(request(1, "tools/call", name="chat", **asked))
        times, messages = [time.monotonic()], []
        while "result" not in (message := client.receive()):
            times.append(time.monotonic())
            messages.append(message["params"])

    steps = [each["progress"] for each in messages]
    assert steps == sorted(set(steps))
    assert len(steps) >= 2
    assert max(b - a for a, b in itertools.pairwise(times)) < 6  # five, and some slack


# Stopping, in all the ways there are: each returns when it has asked for the end.


def _streaming(client: HttpClient, **more: str) -> socket.socket:
    """Begin a call, wait until something of it has come, and return its connection."""
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
    } | more
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connection = socket.create_connection(("127.0.0.1", client.port), 20)
    connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + data)
    return connection


def _by_notice_on_stdio(client: Any, upstream: ServedUpstream) -> float:
    client.send(request(77, "tools/call", name="chat", arguments={"message": "drip"}))
    until(lambda: upstream.open)
    asked = time.monotonic()
    client.send(notification("notifications/cancelled", requestId=77))
    return asked


def _by_notice_on_http(client: Any, upstream: ServedUpstream) -> float:
    connection = _streaming(client)
    until(lambda: upstream.open)
    body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}
    asked = time.monotonic()
    assert client.post(body, **{"MCP-Protocol-Version": "2025-06-18"}).status == 202
    rest = b""
    while piece := connection.recv(65536):
        rest += piece
        if rest.endswith(b"0\r\n\r\n"):
            break
    connection.close()
    assert b'"id":77' not in rest.replace(b" ", b"")  # a cancelled call has no answer
    return asked


def _by_hanging_up(client: Any, upstream: ServedUpstream) -> float:
    connection = _streaming(client)
    until(lambda: upstream.open)
    asked = time.monotonic()
    connection.close()
    return asked


def _by_the_tool(client: Any, upstream: ServedUpstream) -> float:
    id_ = called(client, "chat", message="drip", background=True)["jobId"]
    until(lambda: upstream.open)
    asked = time.monotonic()
    assert called(client, "job", jobId=id_, action="cancel")["state"] == "cancelled"
    return asked


def _by_the_task(client: Any, upstream: ServedUpstream) -> float:
    begun = client.modern(
        "tools/call",
        name="chat",
        arguments={"message": "drip", "background": True},
        _meta=ENVELOPE | DECLARED,
    ).json()["result"]
    until(lambda: upstream.open)
    assert begun["resultType"] == "task"
    asked = time.monotonic()
    task = {"taskId": begun["taskId"], "_meta": ENVELOPE | DECLARED}
    assert "status" not in client.modern("tasks/cancel", **task).json()["result"]
    assert client.modern("tasks/get", **task).json()["result"]["status"] == "cancelled"
    return asked


WAYS: dict[str, Any] = {
    "notice on stdio": (stdio, _by_notice_on_stdio, {}),
    "notice on http": (http, _by_notice_on_http, {}),
    "notice on http, json": (http, _by_notice_on_http, {"JUNTO_HTTP_JSON_ONLY": "true"}),
    "hanging up": (http, _by_hanging_up, {}),
    "hanging up, json": (http, _by_hanging_up, {"JUNTO_HTTP_JSON_ONLY": "true"}),
    "job cancel on stdio": (stdio, _by_the_tool, {}),
    "job cancel on http": (http, _by_the_tool, {}),
    "tasks/cancel": (http, _by_the_task, {}),
}
TRIES = 5


def _has_hung_up(upstream: ServedUpstream, times: int) -> bool:
    return len(upstream.hung_up) == times


@pytest.mark.parametrize("way", WAYS)
def test_whoever_cancels_closes_the_providers_socket_within_a_fifth_of_a_second(
    tmp_path: Path, upstream: ServedUpstream, way: str
) -> None:
    opened, stop, more = WAYS[way]
    took: list[float] = []
    with opened(tmp_path, upstream, **more) as client:
        called(client, "chat", message="say warm")
        for number in range(1, TRIES + 1):
            asked = stop(client, upstream)
            until(partial(_has_hung_up, upstream, number))
            took.append(upstream.hung_up[-1] - asked)
        jobs = called(client, "job")["jobs"][:TRIES]

    assert {job["state"] for job in jobs} == {"cancelled"}
    assert upstream.open == 0
    # The machine may be busy with something else for a moment, but not each time.
    assert min(took) < 0.2, took


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("drain", ["600", "0"], ids=["twice", "once"])
def test_a_signal_to_the_http_server_ends_jobs_in_order(
    tmp_path: Path, upstream: ServedUpstream, number: int, drain: str
) -> None:
    variables = environment(tmp_path, upstream) | {"JUNTO_JOBS_DRAIN": drain}
    with http_server(junto("serve", "--port", "0"), variables, tmp_path) as (client, process):
        id_ = called(client, "chat", message="drip", background=True)["jobId"]
        until(lambda: upstream.open)
        process.send_signal(number)
        if drain == "600":
            until(lambda: _refuses(client))
            time.sleep(0.5)  # so that the second comes while jobs are waited for
            process.send_signal(number)
        process.communicate(timeout=30)
        assert process.returncode == 0

    with stdio(tmp_path, upstream) as later:
        assert called(later, "job", jobId=id_)["state"] == "cancelled"


def _refuses(client: HttpClient) -> bool:
    try:
        client.get("/health")
    except OSError:
        return True
    return False


def test_a_client_that_closes_our_input_and_then_insists_leaves_no_job(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    variables = environment(tmp_path, upstream) | {"JUNTO_JOBS_DRAIN": "600"}
    with child(junto("mcp"), variables, tmp_path, measured=True) as client:
        id_ = called(client, "chat", message="drip", background=True)["jobId"]
        until(lambda: upstream.open)
        assert client.process.stdin
        client.process.stdin.close()
        time.sleep(1)  # as clients do
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(30) == 0

    with stdio(tmp_path, upstream) as later:
        assert called(later, "job", jobId=id_)["state"] == "cancelled"


@pytest.mark.parametrize("background", [True, False])
def test_who_cancels_at_the_moment_of_the_hand_over_leaves_no_job_that_nobody_knows(
    tmp_path: Path, upstream: ServedUpstream, *, background: bool
) -> None:
    calls = 60
    with stdio(tmp_path, upstream, JUNTO_JOBS_LONG_CALL_SECONDS="0.05") as client:
        answered = set()
        for number in range(100, 100 + calls):
            arguments = {"message": "drip", "background": background}
            client.send(request(number, "tools/call", name="chat", arguments=arguments))
            time.sleep((number % 12) / 1000 + (0 if background else 0.045))
            client.send(notification("notifications/cancelled", requestId=number))
        # Whatever was answered comes before this.
        client.send(request(1, "tools/call", name="current_time", arguments={}))
        while (message := client.receive())["id"] != 1:
            answered.add(message["result"]["structuredContent"]["jobId"])
        until(lambda: upstream.open <= len(answered))

        running = upstream.open
    until(lambda: upstream.open == 0)

    assert running <= len(answered) < calls


def test_a_cancelled_call_either_kept_its_turn_and_says_so_or_kept_nothing(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    calls = 60
    with stdio(tmp_path, upstream) as client:
        called(client, "chat", message="say warm")
        for number in range(100, 100 + calls):
            arguments = {"message": "say quick"}
            client.send(request(number, "tools/call", name="chat", arguments=arguments))
            time.sleep((number % 20) / 1500)
            client.send(notification("notifications/cancelled", requestId=number))
        client.finish()

    with contextlib.closing(sqlite3.connect(tmp_path / "data/junto/junto.db")) as database:
        [(kept,)] = database.execute("SELECT count(*) FROM conversations").fetchall()
        [(completed,)] = database.execute(
            "SELECT count(*) FROM jobs WHERE state = 'completed'"
        ).fetchall()
    assert kept == completed
    assert completed < calls + 1


def test_a_shutdown_closes_the_providers_socket(tmp_path: Path, upstream: ServedUpstream) -> None:
    with stdio(tmp_path, upstream) as client:
        called(client, "chat", message="drip", background=True)
        until(lambda: upstream.open)
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(30) == 0

    until(lambda: upstream.hung_up)
    assert upstream.open == 0


def test_a_call_on_one_server_is_cancelled_from_another(
    tmp_path: Path, upstream: ServedUpstream, redis_socket: Path
) -> None:
    more = {"JUNTO_REDIS_URL": f"unix://{redis_socket}"}
    with http(tmp_path, upstream, **more) as here, http(tmp_path, upstream, **more) as there:
        for client in (here, there):  # both have heard of Redis then
            called(client, "chat", message="say warm")
        connection = _streaming(here)
        until(lambda: upstream.open)
        body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}
        assert there.post(body, **{"MCP-Protocol-Version": "2025-06-18"}).status == 202
        until(lambda: len(upstream.hung_up) == 1)
        connection.close()

        id_ = called(here, "chat", message="drip", background=True)["jobId"]
        until(lambda: upstream.open)
        asked = time.monotonic()
        cancelled = called(there, "job", jobId=id_, action="cancel")
        until(lambda: len(upstream.hung_up) == 2)

        assert cancelled["state"] == "cancelled"
        assert upstream.hung_up[-1] - asked < 0.9  # the store alone is looked at each second


def test_two_calls_that_look_the_same_are_both_left_alone(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    with http(tmp_path, upstream) as client:
        first, second = _streaming(client), _streaming(client)
        until(lambda: upstream.open == 2)
        body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}
        client.post(body, **{"MCP-Protocol-Version": "2025-06-18"})
        client.post(body, **{"MCP-Protocol-Version": "2025-06-18", "User-Agent": "another"})
        assert called(client, "chat", message="say hi")["response"] == "hi"

        assert upstream.hung_up == []
        first.close()
        until(lambda: len(upstream.hung_up) == 1)
        second.close()
        until(lambda: len(upstream.hung_up) == 2)


def test_who_hangs_up_finds_what_there_was(tmp_path: Path, upstream: ServedUpstream) -> None:
    with http(tmp_path, upstream) as client:
        connection = _streaming(client)
        until(lambda: b"word1 " in connection.recv(65536))
        connection.close()
        until(lambda: upstream.hung_up)
        [job] = called(client, "job")["jobs"]
        told = called(client, "job", jobId=job["jobId"], action="result")

    assert told["state"] == "cancelled"
    assert "hung up" in told["error"]["message"]
    assert told["response"].startswith("word0 word1 ")
    assert told["usage"]["estimated"]
