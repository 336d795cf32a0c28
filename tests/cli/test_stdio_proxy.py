"""`junto mcp --shared`: many stdio clients share one background server."""

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
    TIMEOUT_SECONDS,
    Json,
    StdioClient,
    encode_line,
    notification,
    request,
    tool_names,
)
from tests.daemon_home import DaemonHome, daemon_home
from tests.fake_model_server import FakeModelServer, fake_model_server
from tests.processes import wait_until


@pytest.fixture(scope="module")
def upstream() -> Iterator[FakeModelServer]:
    with fake_model_server() as upstream:
        yield upstream


def model_environment(upstream: FakeModelServer, **variables: str) -> dict[str, str]:
    model = {"id": "a", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k-1"}
    return {"JUNTO_MODELS": json.dumps([model]), "JUNTO_ANSWERS_MAX_RETRIES": "0", **variables}


@pytest.fixture
def daemon(tmp_path: Path, upstream: FakeModelServer) -> Iterator[DaemonHome]:
    upstream.bodies.clear()
    with daemon_home(tmp_path, **model_environment(upstream)) as home:
        yield home


@pytest.fixture(scope="module")
def module_daemon(
    tmp_path_factory: pytest.TempPathFactory, upstream: FakeModelServer
) -> Iterator[DaemonHome]:
    """Return a daemon that many tests can share, because none of them stops it."""
    with daemon_home(tmp_path_factory.mktemp("daemon"), **model_environment(upstream)) as home:
        yield home


@pytest.fixture
def shared_daemon(module_daemon: DaemonHome, upstream: FakeModelServer) -> DaemonHome:
    upstream.bodies.clear()
    upstream.hung_up.clear()
    return module_daemon


def initialize(client: StdioClient) -> Json:
    answer = client.ask(0, "initialize", **HANDSHAKE)
    client.send(notification("notifications/initialized"))
    return answer


def tool_call(number: int, name: str, meta: Json | None = None, **arguments: Any) -> bytes:
    extra = {"_meta": meta} if meta else {}
    return request(number, "tools/call", name=name, arguments=arguments, **extra)


def call_tool(client: StdioClient, number: int, name: str, **arguments: Any) -> Json:
    client.send(tool_call(number, name, **arguments))
    result: Json = client.receive()["result"]
    return result


def read_stderr(client: StdioClient) -> str:
    assert client.process.stderr
    return client.process.stderr.read().decode()


@pytest.mark.feature("F026")
def test_twenty_concurrent_clients_start_one_server_and_share_conversations(
    daemon: DaemonHome,
) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(daemon.client()) for _ in range(20)]
        for client in clients:
            client.send(request(0, "initialize", **HANDSHAKE))
        answers = [client.receive() for client in clients]
        servers = daemon.find_pids()
        chat = call_tool(clients[0], 1, "chat", message="hello")["structuredContent"]
        listings = [call_tool(client, 2, "list_conversations") for client in clients[1:3]]

    assert {answer["result"]["protocolVersion"] for answer in answers} == {"2025-06-18"}
    assert len(servers) == 1
    assert daemon.find_pids() == servers  # the server outlives its clients
    for listing in listings:
        listed = listing["structuredContent"]["conversations"]
        assert [conversation["id"] for conversation in listed] == [chat["conversationId"]]


def test_both_protocol_versions_are_forwarded_unchanged(shared_daemon: DaemonHome) -> None:
    with shared_daemon.client() as client:
        ping = client.ask(1, "ping")
        discovery = client.ask(2, "server/discover", _meta=ENVELOPE)
        handshake = initialize(client)
        meta = ENVELOPE | {"progressToken": "p"}
        modern = call_tool(client, 3, "current_time", meta=ENVELOPE)
        client.send(tool_call(4, "chat", meta, message="long"))
        modern_messages = [client.receive()]
        while "id" not in modern_messages[-1]:
            modern_messages.append(client.receive())
        client.send(tool_call(5, "chat", {"progressToken": "q"}, message="long"))
        legacy_messages = [client.receive()]
        while "id" not in legacy_messages[-1]:
            legacy_messages.append(client.receive())
        prompt = client.ask(6, "prompts/get", name="nobodyé", _meta=ENVELOPE)

    assert ping["result"] == {}
    assert "2026-07-28" in discovery["result"]["supportedVersions"]
    assert handshake["result"]["protocolVersion"] == "2025-06-18"
    assert modern["resultType"] == "complete"
    assert len(modern_messages) > 1
    assert {message["params"]["progressToken"] for message in modern_messages[:-1]} == {"p"}
    assert modern_messages[-1]["result"]["resultType"] == "complete"
    assert {message["params"]["progressToken"] for message in legacy_messages[:-1]} == {"q"}
    assert "resultType" not in legacy_messages[-1]["result"]
    assert prompt["error"]["code"] == -32602


def test_local_tools_run_in_the_process_of_the_client(
    shared_daemon: DaemonHome, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "here.txt").write_text("mine")
    with shared_daemon.client(cwd=folder) as client:
        initialize(client)
        tools = client.ask(1, "tools/list")["result"]["tools"]
        read = call_tool(client, 2, "readFile", path="here.txt")
        outside = call_tool(client, 3, "read_file", path=str(shared_daemon.record_path))
        resource = client.ask(4, "resources/read", uri=f"file://{folder}/here.txt")
        templates = client.ask(5, "resources/templates/list")["result"]["resourceTemplates"]
        unknown = client.ask(6, "tools/call", name="nobody", arguments={})
        variable = call_tool(client, 7, "get_env", key="PWD")

    assert sorted(tool["name"] for tool in tools) == sorted(tool_names())
    assert read["content"][0]["text"].startswith("mine")
    assert outside["isError"]
    assert resource["result"]["contents"][0]["text"] == "mine"
    assert any(template["uriTemplate"].startswith("file:") for template in templates)
    assert unknown["error"]["code"] == -32602
    assert not variable["isError"]


def test_a_server_killed_during_a_call_fails_only_that_call(
    daemon: DaemonHome, upstream: FakeModelServer
) -> None:
    with daemon.client() as client:
        initialize(client)
        client.send(tool_call(1, "chat", message="hush"))
        assert wait_until(lambda: bool(upstream.bodies))
        first = daemon.kill()

        lost = client.receive()["result"]
        answer = call_tool(client, 2, "chat", message="hello")
        (second,) = daemon.find_pids()

    assert lost["isError"]
    assert lost["structuredContent"]["code"] == "NetworkError"
    assert lost["structuredContent"]["retryable"]
    assert "Try again" in lost["content"][0]["text"]
    assert answer["structuredContent"]["response"] == "a heard 1: hello"
    assert first != second


def test_a_client_does_not_notice_a_restart_between_two_calls(
    tmp_path: Path, upstream: FakeModelServer
) -> None:
    variables = model_environment(upstream, JUNTO_HTTP_SESSIONS="true")
    with daemon_home(tmp_path, **variables) as daemon, daemon.client() as client:
        initialize(client)
        before = call_tool(client, 1, "current_time")
        daemon.run("restart")
        after = call_tool(client, 2, "current_time")
        daemon.run("stop")
        listing = client.ask(3, "tools/list")

    assert not before["isError"]
    assert not after["isError"]
    assert len(listing["result"]["tools"]) == len(tool_names())


def test_without_a_background_server_the_process_serves_alone_and_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with daemon_home(tmp_path, JUNTO_HTTP_PORT=str(port)) as daemon, daemon.client() as client:
            handshake = initialize(client)
            tools = client.ask(1, "tools/list")["result"]["tools"]
            time = call_tool(client, 2, "current_time")
            assert client.process.stdin
            client.process.stdin.close()
            stderr = read_stderr(client)

    assert handshake["result"]["serverInfo"]["name"] == "junto"
    assert [tool["name"] for tool in tools] == tool_names()
    assert not time["isError"]
    assert f"Port {port} on 127.0.0.1 cannot be had" in stderr
    assert stderr.count("serves alone") == 1


def test_a_cancelled_call_stops_the_upstream_request_and_is_never_answered(
    shared_daemon: DaemonHome, upstream: FakeModelServer
) -> None:
    with shared_daemon.client() as client:
        initialize(client)
        client.send(tool_call(1, "chat", message="hush"))
        assert wait_until(lambda: bool(upstream.bodies))
        client.send(notification("notifications/cancelled", requestId=1))
        assert wait_until(lambda: bool(upstream.hung_up))

        answer = client.ask(2, "ping")

    assert answer == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_a_call_is_finished_after_stdin_is_closed(shared_daemon: DaemonHome) -> None:
    with shared_daemon.client() as client:
        initialize(client)
        client.send(tool_call(1, "chat", message="wait 1"))
        assert client.process.stdin
        client.process.stdin.close()
        assert client.process.stdout
        (answer,) = [json.loads(text) for text in client.process.stdout]

    assert answer["result"]["structuredContent"]["response"]


def test_an_invalid_message_gets_an_error_and_the_next_one_an_answer(
    shared_daemon: DaemonHome,
) -> None:
    with shared_daemon.client() as client:
        initialize(client)
        for line, code in {
            b"not json": -32700,
            b"[]": -32600,
            b'{"jsonrpc":"2.0","id":true,"method":"ping"}': -32600,
            b'{"jsonrpc":"2.0","id":1}': -32600,
        }.items():
            client.send(line + b"\n")
            assert client.receive()["error"]["code"] == code, line
        client.send(tool_call(7, "chat", message="hush") + request(7, "ping"))
        duplicate = client.receive()
        client.send(notification("notifications/cancelled", requestId="7"))
        client.send(encode_line({"jsonrpc": "2.0", "id": 99, "result": {}}))
        large = call_tool(client, 9, "get_env", key="x" * 2_000_000)
        alive = client.ask(8, "ping")

    assert (duplicate["id"], duplicate["error"]["message"]) == (None, "This id is already in use.")
    assert large["structuredContent"]["code"] == "ValidationError"
    assert alive["result"] == {}


def test_the_proxy_does_not_import_the_protocol_types(shared_daemon: DaemonHome) -> None:
    shared_daemon.run("start")
    with shared_daemon.client(PYTHONPROFILEIMPORTTIME="1") as client:
        initialize(client)
        call_tool(client, 1, "current_time")
        assert client.process.stdin
        client.process.stdin.close()
        imported = read_stderr(client)

    assert "aiohttp" in imported
    assert "mcp_types" not in imported


def test_a_call_during_a_stop_waits_for_the_next_server(
    daemon: DaemonHome, upstream: FakeModelServer
) -> None:
    with daemon.client() as first, daemon.client() as second:
        initialize(first)
        initialize(second)
        (before,) = daemon.find_pids()
        first.send(tool_call(1, "chat", message="wait 1"))
        assert wait_until(lambda: bool(upstream.bodies))
        stop = daemon.spawn("stop")
        assert wait_until(lambda: not _accepts_connections(daemon))

        after = call_tool(second, 1, "current_time")
        finished = first.receive()["result"]
        stop.communicate(timeout=TIMEOUT_SECONDS)

        assert daemon.find_pids() not in ([], [before])
    assert not after["isError"]
    assert not finished["isError"]


def _accepts_connections(daemon: DaemonHome) -> bool:
    try:
        daemon.http_client().get("/health")
    except OSError:
        return False
    return True


def test_cancelling_a_call_while_its_server_is_built_leaves_the_server_usable(
    shared_daemon: DaemonHome,
) -> None:
    with shared_daemon.client(JUNTO_TOOLS_ROOTS=str(shared_daemon.home)) as client:
        initialize(client)
        client.send(tool_call(1, "list_files", path="."))
        client.send(notification("notifications/cancelled", requestId=1))

        listed = call_tool(client, 2, "list_files", path=".")

    assert not listed["isError"]
