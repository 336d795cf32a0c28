"""`junto mcp --shared`: many clients on pipes, one server behind them."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.clients import (
    ENVELOPE,
    HANDSHAKE,
    SECONDS,
    TOOLS,
    Json,
    StdioClient,
    line,
    notification,
    request,
)
from tests.households import Household, household
from tests.processes import until
from tests.server_upstream import ServedUpstream, served_upstream


@pytest.fixture(scope="module")
def upstream() -> Iterator[ServedUpstream]:
    with served_upstream() as upstream:
        yield upstream


def with_model(upstream: ServedUpstream, **more: str) -> dict[str, str]:
    model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k-1"}
    return {"JUNTO_MODELS": json.dumps([model]), "JUNTO_ANSWERS_MAX_RETRIES": "0", **more}


@pytest.fixture
def house(tmp_path: Path, upstream: ServedUpstream) -> Iterator[Household]:
    upstream.bodies.clear()
    with household(tmp_path, **with_model(upstream)) as found:
        yield found


@pytest.fixture(scope="module")
def common_house(
    tmp_path_factory: pytest.TempPathFactory, upstream: ServedUpstream
) -> Iterator[Household]:
    """Return a house that many tests may share, because none of them ends its server."""
    with household(tmp_path_factory.mktemp("house"), **with_model(upstream)) as found:
        yield found


@pytest.fixture
def common(common_house: Household, upstream: ServedUpstream) -> Household:
    upstream.bodies.clear()
    upstream.hung_up.clear()
    return common_house


def shake(client: StdioClient) -> Json:
    answer = client.ask(0, "initialize", **HANDSHAKE)
    client.send(notification("notifications/initialized"))
    return answer


def call(number: int, name: str, meta: Json | None = None, **arguments: Any) -> bytes:
    extra = {"_meta": meta} if meta else {}
    return request(number, "tools/call", name=name, arguments=arguments, **extra)


def called(client: StdioClient, number: int, name: str, **arguments: Any) -> Json:
    client.send(call(number, name, **arguments))
    result: Json = client.receive()["result"]
    return result


def said_on_stderr(client: StdioClient) -> str:
    assert client.process.stderr
    return client.process.stderr.read().decode()


@pytest.mark.feature("F026")
def test_twenty_clients_at_once_start_one_server_and_see_one_memory(house: Household) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(house.client()) for _ in range(20)]
        for client in clients:
            client.send(request(0, "initialize", **HANDSHAKE))
        answers = [client.receive() for client in clients]
        servers = house.servers()
        begun = called(clients[0], 1, "chat", message="hello")["structuredContent"]
        seen = [called(client, 2, "list_conversations") for client in clients[1:3]]

    assert {answer["result"]["protocolVersion"] for answer in answers} == {"2025-06-18"}
    assert len(servers) == 1
    assert house.servers() == servers  # it outlives its clients
    for each in seen:
        listed = each["structuredContent"]["conversations"]
        assert [story["id"] for story in listed] == [begun["conversationId"]]


def test_both_eras_are_passed_on_as_they_are(common: Household) -> None:
    with common.client() as client:
        bare = client.ask(1, "ping")
        found = client.ask(2, "server/discover", _meta=ENVELOPE)
        shaken = shake(client)
        meta = ENVELOPE | {"progressToken": "p"}
        modern = called(client, 3, "current_time", meta=ENVELOPE)
        client.send(call(4, "chat", meta, message="long"))
        received = [client.receive()]
        while "id" not in received[-1]:
            received.append(client.receive())
        client.send(call(5, "chat", {"progressToken": "q"}, message="long"))
        older = [client.receive()]
        while "id" not in older[-1]:
            older.append(client.receive())
        prompt = client.ask(6, "prompts/get", name="nobodyé", _meta=ENVELOPE)

    assert bare["result"] == {}
    assert "2026-07-28" in found["result"]["supportedVersions"]
    assert shaken["result"]["protocolVersion"] == "2025-06-18"
    assert modern["resultType"] == "complete"
    assert len(received) > 1
    assert {message["params"]["progressToken"] for message in received[:-1]} == {"p"}
    assert received[-1]["result"]["resultType"] == "complete"
    assert {message["params"]["progressToken"] for message in older[:-1]} == {"q"}
    assert "resultType" not in older[-1]["result"]
    assert prompt["error"]["code"] == -32602


def test_what_is_done_to_this_machine_is_done_by_the_process_of_the_client(
    common: Household, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "here.txt").write_text("mine")
    with common.client(cwd=folder) as client:
        shake(client)
        tools = client.ask(1, "tools/list")["result"]["tools"]
        read = called(client, 2, "readFile", path="here.txt")
        outside = called(client, 3, "read_file", path=str(common.record))
        resource = client.ask(4, "resources/read", uri=f"file://{folder}/here.txt")
        templates = client.ask(5, "resources/templates/list")["result"]["resourceTemplates"]
        unknown = client.ask(6, "tools/call", name="nobody", arguments={})
        shown = called(client, 7, "get_env", key="PWD")

    assert sorted(tool["name"] for tool in tools) == sorted(TOOLS)
    assert read["content"][0]["text"].startswith("mine")
    assert outside["isError"]
    assert resource["result"]["contents"][0]["text"] == "mine"
    assert any(each["uriTemplate"].startswith("file:") for each in templates)
    assert unknown["error"]["code"] == -32602
    assert not shown["isError"]


def test_a_server_killed_during_a_call_costs_that_call_and_no_other(
    house: Household, upstream: ServedUpstream
) -> None:
    with house.client() as client:
        shake(client)
        client.send(call(1, "chat", message="hush"))
        assert until(lambda: bool(upstream.bodies))
        first = house.killed()

        lost = client.receive()["result"]
        answer = called(client, 2, "chat", message="hello")
        (second,) = house.servers()

    assert lost["isError"]
    assert lost["structuredContent"]["code"] == "NetworkError"
    assert lost["structuredContent"]["retryable"]
    assert "Try again" in lost["content"][0]["text"]
    assert answer["structuredContent"]["response"] == "a heard 1: hello"
    assert first != second


def test_a_restart_between_two_calls_is_not_noticed(
    tmp_path: Path, upstream: ServedUpstream
) -> None:
    variables = with_model(upstream, JUNTO_HTTP_SESSIONS="true")
    with household(tmp_path, **variables) as house, house.client() as client:
        shake(client)
        before = called(client, 1, "current_time")
        house.run("restart")
        after = called(client, 2, "current_time")
        house.run("stop")
        then = client.ask(3, "tools/list")

    assert not before["isError"]
    assert not after["isError"]
    assert len(then["result"]["tools"]) == len(TOOLS)


def test_without_a_background_server_the_process_serves_alone_and_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        with household(tmp_path, JUNTO_HTTP_PORT=str(port)) as house, house.client() as client:
            shaken = shake(client)
            tools = client.ask(1, "tools/list")["result"]["tools"]
            time = called(client, 2, "current_time")
            assert client.process.stdin
            client.process.stdin.close()
            told = said_on_stderr(client)

    assert shaken["result"]["serverInfo"]["name"] == "junto"
    assert [tool["name"] for tool in tools] == TOOLS
    assert not time["isError"]
    assert f"Port {port} on 127.0.0.1 cannot be had" in told
    assert told.count("serves alone") == 1


def test_a_cancelled_call_is_stopped_over_there_and_never_answered(
    common: Household, upstream: ServedUpstream
) -> None:
    with common.client() as client:
        shake(client)
        client.send(call(1, "chat", message="hush"))
        assert until(lambda: bool(upstream.bodies))
        client.send(notification("notifications/cancelled", requestId=1))
        assert until(lambda: bool(upstream.hung_up))

        answer = client.ask(2, "ping")

    assert answer == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_a_call_is_finished_after_the_end_of_the_input(common: Household) -> None:
    with common.client() as client:
        shake(client)
        client.send(call(1, "chat", message="wait 1"))
        assert client.process.stdin
        client.process.stdin.close()
        assert client.process.stdout
        (answer,) = [json.loads(text) for text in client.process.stdout]

    assert answer["result"]["structuredContent"]["response"]


def test_garbage_gets_an_error_and_the_next_message_an_answer(common: Household) -> None:
    with common.client() as client:
        shake(client)
        for garbage, code in {
            b"not json": -32700,
            b"[]": -32600,
            b'{"jsonrpc":"2.0","id":true,"method":"ping"}': -32600,
            b'{"jsonrpc":"2.0","id":1}': -32600,
        }.items():
            client.send(garbage + b"\n")
            assert client.receive()["error"]["code"] == code, garbage
        client.send(call(7, "chat", message="hush") + request(7, "ping"))
        twice = client.receive()
        client.send(notification("notifications/cancelled", requestId="7"))
        client.send(line({"jsonrpc": "2.0", "id": 99, "result": {}}))
        large = called(client, 9, "get_env", key="x" * 2_000_000)
        alive = client.ask(8, "ping")

    assert (twice["id"], twice["error"]["message"]) == (None, "This id is already in use.")
    assert large["structuredContent"]["code"] == "ValidationError"
    assert alive["result"] == {}


def test_a_start_imports_nothing_of_the_protocol(common: Household) -> None:
    common.run("start")
    with common.client(PYTHONPROFILEIMPORTTIME="1") as client:
        shake(client)
        called(client, 1, "current_time")
        assert client.process.stdin
        client.process.stdin.close()
        imported = said_on_stderr(client)

    assert "aiohttp" in imported
    assert "mcp_types" not in imported


def test_a_call_during_a_stop_waits_for_the_next_server(
    house: Household, upstream: ServedUpstream
) -> None:
    with house.client() as first, house.client() as second:
        shake(first)
        shake(second)
        (before,) = house.servers()
        first.send(call(1, "chat", message="wait 1"))
        assert until(lambda: bool(upstream.bodies))
        stop = house.begun("stop")
        assert until(lambda: not _takes_connections(house))

        after = called(second, 1, "current_time")
        finished = first.receive()["result"]
        stop.communicate(timeout=SECONDS)

        assert house.servers() not in ([], [before])
    assert not after["isError"]
    assert not finished["isError"]


def _takes_connections(house: Household) -> bool:
    try:
        house.http().get("/health")
    except OSError:
        return False
    return True


def test_a_call_that_is_cancelled_while_its_server_is_built_leaves_it_whole(
    common: Household,
) -> None:
    with common.client(JUNTO_TOOLS_ROOTS=str(common.home)) as client:
        shake(client)
        client.send(call(1, "list_files", path="."))
        client.send(notification("notifications/cancelled", requestId=1))

        listed = called(client, 2, "list_files", path=".")

    assert not listed["isError"]
