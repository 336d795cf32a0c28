import contextlib
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.server.lowlevel import Server
from starlette.applications import Starlette
from starlette.routing import Route

from junto.domain.errors import ConfigurationError, NetworkError
from junto.settings.schema import HttpSettings
from junto.transport.host_origin_guard import HostOriginGuard
from junto.transport.http import Views, build_asgi_app, open_listener
from tests.clients import (
    TIMEOUT_SECONDS,
    HttpClient,
    HttpReply,
    clean_environment,
    http_server,
    junto_command,
    tool_names,
)

ROOT = Path(__file__).parents[2]


@contextlib.contextmanager
def misbehaving_server(tmp_path: Path, kind: str = "http") -> Iterator[tuple[HttpClient, Any]]:
    command = [sys.executable, "-W", "error", "-m", "tests.transport.misbehaving_server", kind]
    with http_server(command, clean_environment(tmp_path), ROOT) as (client, process):
        yield client, process


def read_stderr_line(process: "subprocess.Popen[bytes]") -> str:
    assert process.stderr
    return process.stderr.readline().decode().strip()


@pytest.mark.feature("F003", "F004", "F005", "F008", "F009", "F252")
def test_one_endpoint_answers_legacy_and_modern_clients_in_plain_json(served: HttpClient) -> None:
    legacy = served.legacy("tools/list")
    modern = served.modern("tools/list")

    for reply in (legacy, modern):
        assert reply.status == 200
        assert reply.headers["content-type"] == "application/json"
        assert "mcp-session-id" not in reply.headers
        names = [tool["name"] for tool in reply.json()["result"]["tools"]]
        assert names == tool_names(over_http=True)


@pytest.mark.feature("F262")
def test_the_sse_endpoints_are_gone_and_the_design_page_names_the_framework(
    served: HttpClient,
) -> None:
    design = (ROOT / "docs" / "design.md").read_text()

    replies = [served.get("/sse"), served.send("POST", "/messages", b"{}", {})]

    assert [reply.status for reply in replies] == [404, 404]
    assert "Starlette" in design
    assert "`POST /mcp`" in design
    views = Views(health=dict, metrics=bytes, page=str)
    guard = build_asgi_app(Server("x"), views, HttpSettings())
    assert isinstance(guard, HostOriginGuard)
    assert isinstance(guard.app, Starlette)
    assert [route.path for route in guard.app.routes if isinstance(route, Route)] == [
        "/mcp", "/health", "/ready", "/metrics", "/",
    ]  # fmt: skip


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_handshake_is_answered_without_a_session(served: HttpClient, version: str) -> None:
    params = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }

    result = served.legacy("initialize", **params).json()["result"]

    assert result["protocolVersion"] == version
    assert result["instructions"]


def test_discovery_lists_versions_and_instructions(served: HttpClient) -> None:
    result = served.modern("server/discover").json()["result"]

    assert "2026-07-28" in result["supportedVersions"]
    assert "list_models" in result["instructions"]


def test_legacy_and_modern_clients_can_call_tools(served: HttpClient) -> None:
    params: dict[str, Any] = {"name": "get_env", "arguments": {"key": "EDITOR"}}

    legacy = served.legacy("tools/call", **params).json()["result"]
    modern = served.modern("tools/call", **params).json()["result"]

    assert legacy["structuredContent"] == {
        "key": "EDITOR",
        "isSet": True,
        "value": "in plain sight",
    }
    assert modern["structuredContent"] == legacy["structuredContent"]


@pytest.mark.feature("F170")
def test_no_secret_is_shown_by_any_tool_or_resource(served: HttpClient) -> None:
    hidden = served.legacy("tools/call", name="get_env", arguments={"key": "MY_API_KEY"})
    variable = served.legacy("tools/call", name="get_env", arguments={"key": "JUNTO_MODELS"})
    config = served.legacy("resources/read", uri="config://server")
    models = served.legacy("tools/call", name="list_models", arguments={})

    assert hidden.json()["result"]["structuredContent"] == {"key": "MY_API_KEY", "isSet": True}
    everything = b"".join(reply.body for reply in (hidden, variable, config, models))
    assert b"sk-ant-hidden" not in everything
    assert b"not-to-be-seen" not in everything
    assert b"127.0.0.1:9" not in models.body
    assert b'"id":"m1"' in models.body


@pytest.mark.feature("F006")
@pytest.mark.parametrize("accept", ["", "text/html", "application/json", "text/event-stream"])
def test_an_unsupported_accept_header_is_refused(served: HttpClient, accept: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    legacy = served.post(body, Accept=accept)
    modern = served.post(body, Accept=accept, **{"MCP-Protocol-Version": "2026-07-28"})

    assert (legacy.status, modern.status) == (406, 406)


@pytest.mark.feature("F023")
def test_health_readiness_metrics_and_the_landing_page_are_served(served: HttpClient) -> None:
    served.legacy("tools/call", name="current_time", arguments={})

    health = served.get("/health").json()
    page = served.get("/")

    assert health["status"] == "ok"
    assert served.get("/ready").json() == {"ready": True}
    metrics = served.get("/metrics")
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b'mcp_tool_calls_total{outcome="ok",tool="current_time"}' in metrics.body
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    text = page.body.decode()
    assert f"http://127.0.0.1:{served.port}/mcp" in text
    for word in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Gemini CLI", "Codex"):
        assert word in text
    assert "current_time" in text


def test_a_host_header_cannot_inject_text_into_the_landing_page(served: HttpClient) -> None:
    page = served.get("/", Host='localhost:1"><script>')

    assert page.status == 421


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_methods_that_open_or_end_a_session_are_not_allowed(
    served: HttpClient, method: str
) -> None:
    reply = served.send(method, "/mcp", None, {"Accept": "text/event-stream"})

    assert (reply.status, reply.headers["allow"]) == (405, "POST")


def test_a_foreign_host_or_origin_is_refused_on_every_route(served: HttpClient) -> None:
    for path in ("/", "/mcp", "/health", "/ready", "/metrics", "/nowhere"):
        assert served.get(path, Host="evil.example").status == 421
        assert served.get(path, Origin="https://evil.example").status == 403
    assert served.get("/nowhere").status == 404


PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'

HOSTILE_BODIES: dict[bytes, int] = {
    b"": 400,
    b"not json": 400,
    b'{"a": ': 400,
    b"\xff\xfe": 400,
    b"[" * 100_000: 400,
    b'{"a":' * 100_000: 400,
    b"[" + PING + b"]": 400,
    b"[]": 400,
    b"null": 400,
    b"{}": 400,
    b'{"jsonrpc":"2.0","id":{},"method":"ping"}': 400,
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}': 400,
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}': 400,
    b"9" * 5_000: 400,
}


@pytest.mark.parametrize("body", HOSTILE_BODIES, ids=lambda body: repr(body[:20]))
def test_hostile_bodies_get_errors_in_legacy_and_modern_requests(
    served: HttpClient, body: bytes
) -> None:
    legacy = served.post(body)
    modern = served.post(body, **{"MCP-Protocol-Version": "2026-07-28"})

    assert legacy.status == modern.status == HOSTILE_BODIES[body]
    assert b"Traceback" not in legacy.body + modern.body
    assert served.get("/health").status == 200


def test_a_body_of_five_mebibytes_is_refused_with_a_short_error(served: HttpClient) -> None:
    text = "x" * (5 * 1024 * 1024)

    garbage = served.post(text.encode())
    argument = served.legacy("tools/call", name="get_env", arguments={"key": text})

    assert garbage.status == 400
    assert argument.json()["result"]["isError"]
    assert len(argument.body) < 1000


def test_unknown_versions_methods_and_media_types_are_refused(served: HttpClient) -> None:
    assert served.post(PING, **{"MCP-Protocol-Version": "1999-01-01"}).status == 400
    assert served.legacy("no/such").json()["error"]["code"] == -32601
    assert served.modern("no/such").json()["error"]["code"] == -32601
    assert served.post(PING, **{"Content-Type": "text/plain"}).status == 415
    assert served.post(b'{"jsonrpc":"2.0","method":"notifications/x"}').status == 202
    assert served.post(b'{"jsonrpc":"2.0","id":1,"result":{}}').status == 202


def test_a_body_over_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path) as (client, _):
        for headers in ({}, {"MCP-Protocol-Version": "2026-07-28"}):
            assert client.post(b"x" * 100_001, **headers).status == 413
        assert client.post(PING).status == 200


def test_half_open_connections_do_not_block_others_and_are_dropped(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path) as (client, _):
        idle = [socket.create_connection(("127.0.0.1", client.port)) for _ in range(100)]
        incomplete = socket.create_connection(("127.0.0.1", client.port))
        incomplete.sendall(
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Accept: application/json, text/event-stream\r\nContent-Length: 999\r\n\r\n{"
        )

        assert client.post(PING).status == 200
        assert b"408" in _read_until_closed(incomplete)
        assert {_read_until_closed(connection) for connection in idle} == {b""}


def _read_until_closed(connection: socket.socket) -> bytes:
    received = b""
    with connection:
        connection.settimeout(TIMEOUT_SECONDS)
        while data := connection.recv(1000):
            received += data
    return received


@pytest.mark.feature("F007")
@pytest.mark.parametrize("modern", [False, True])
def test_an_answer_with_progress_is_a_stream(tmp_path: Path, modern: bool) -> None:  # noqa: FBT001
    with misbehaving_server(tmp_path) as (client, _):
        reply = _call_with_progress(client, modern=modern)

    assert reply.headers["content-type"].startswith("text/event-stream")
    events = reply.events()
    assert [event["params"]["progress"] for event in events[:3]] == [0, 1, 2]
    assert [event["params"]["message"] for event in events[:3]] == ["step 0", "step 1", "step 2"]
    assert events[3]["result"]["structuredContent"] == {"said": "done"}


def _call_with_progress(client: HttpClient, *, modern: bool) -> HttpReply:
    send = client.modern if modern else client.legacy
    return send("tools/call", name="slow", arguments={"steps": 3}, _meta={"progressToken": 7})


def test_json_only_means_no_stream_even_with_progress(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path, "json") as (client, _):
        for modern in (False, True):
            reply = _call_with_progress(client, modern=modern)

            assert reply.headers["content-type"] == "application/json"
            assert reply.json()["result"]["structuredContent"] == {"said": "done"}
        assert client.post(PING, Accept="application/json").status == 200


@pytest.mark.parametrize("kind", ["http", "json"])
def test_disconnecting_cancels_the_call(tmp_path: Path, kind: str) -> None:
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "slow", "arguments": {"seconds": 600}},
        }
    ).encode()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with misbehaving_server(tmp_path, kind) as (client, process):
        with socket.create_connection(("127.0.0.1", client.port)) as connection:
            connection.sendall(head.encode() + body)
            assert read_stderr_line(process) == "started"

        assert read_stderr_line(process) == "cancelled"


def test_a_signal_lets_running_calls_finish(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path) as (client, process):
        replies: list[HttpReply] = []
        arguments = {"seconds": 0.4, "text": "in time"}
        caller = threading.Thread(
            target=lambda: replies.append(
                client.legacy("tools/call", name="slow", arguments=arguments)
            )
        )
        caller.start()
        assert read_stderr_line(process) == "started"
        process.terminate()
        caller.join(TIMEOUT_SECONDS)
        process.wait(TIMEOUT_SECONDS)

    assert replies[0].json()["result"]["structuredContent"] == {"said": "in time"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_call_that_outlasts_the_drain_period_is_cancelled(
    tmp_path: Path, number: signal.Signals
) -> None:
    with misbehaving_server(tmp_path) as (client, process):
        arguments = {"seconds": 600}

        def call_slow_tool() -> None:
            with contextlib.suppress(OSError, http.client.HTTPException):
                client.legacy("tools/call", name="slow", arguments=arguments)

        caller = threading.Thread(target=call_slow_tool)
        caller.start()
        assert read_stderr_line(process) == "started"
        process.send_signal(number)

        lines = [read_stderr_line(process) for _ in range(6)]
        caller.join(TIMEOUT_SECONDS)
        process.wait(TIMEOUT_SECONDS)

    assert "cancelled" in lines


def test_a_slow_answer_in_json_only_mode_is_still_json(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path, "json") as (client, _):
        reply = client.legacy(
            "tools/call", name="slow", arguments={"seconds": 1}, _meta={"progressToken": 1}
        )

    assert reply.headers["content-type"] == "application/json"


def test_a_chunked_body_over_the_limit_is_refused(tmp_path: Path) -> None:
    head = (
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Accept: application/json, text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"fa0\r\n" + b"x" * 4000 + b"\r\n"
    with (
        misbehaving_server(tmp_path) as (client, _),
        socket.create_connection(("127.0.0.1", client.port)) as connection,
    ):
        connection.settimeout(TIMEOUT_SECONDS)
        connection.sendall(head + chunk * 30)

        assert b"413" in connection.recv(1000)


def test_a_body_that_arrives_too_slowly_times_out(tmp_path: Path) -> None:
    head = (
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Accept: application/json, text/event-stream\r\nContent-Length: 9999\r\n\r\n"
    )
    with (
        misbehaving_server(tmp_path) as (client, _),
        socket.create_connection(("127.0.0.1", client.port)) as connection,
    ):
        connection.settimeout(0.5)
        connection.sendall(head)
        received = b""
        while not received:
            connection.sendall(b" ")
            with contextlib.suppress(TimeoutError):
                received = connection.recv(1000)

    assert b"408" in received


def test_an_incomplete_second_request_times_out(tmp_path: Path) -> None:
    with (
        misbehaving_server(tmp_path) as (client, _),
        socket.create_connection(("127.0.0.1", client.port)) as connection,
    ):
        connection.settimeout(TIMEOUT_SECONDS)
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200" in connection.recv(1000)
        connection.sendall(b"GET /health HTTP/1.1\r\nHo")

        assert b"200" not in _read_until_closed(connection)


def test_disconnecting_in_the_middle_of_a_body_logs_no_traceback(tmp_path: Path) -> None:
    head = (
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Accept: application/json, text/event-stream\r\nContent-Length: 9999\r\n\r\n{"
    )
    with misbehaving_server(tmp_path) as (client, process):
        with socket.create_connection(("127.0.0.1", client.port)) as connection:
            connection.sendall(head)
        assert client.post(PING).status == 200
        process.terminate()
        _, errors = process.communicate(timeout=TIMEOUT_SECONDS)

    assert b"Traceback" not in errors


def test_an_allowed_origin_passes_cors(tmp_path: Path) -> None:
    environment = clean_environment(tmp_path, JUNTO_HTTP_ALLOWED_ORIGINS="https://app.example")
    with http_server(junto_command("serve", "--port", "0"), environment, tmp_path) as (client, _):
        preflight = client.send(
            "OPTIONS",
            "/mcp",
            None,
            {
                "Origin": "https://app.example",
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "content-type,mcp-protocol-version",
            },
        )
        answer = client.post(PING, Origin="https://app.example")

    assert preflight.status == 200
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    assert answer.status == 200


def test_the_trace_id_of_the_caller_is_logged(tmp_path: Path) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    environment = clean_environment(tmp_path, ANTHROPIC_API_KEY="k")
    with http_server(junto_command("serve", "--port", "0"), environment, tmp_path) as (
        client,
        process,
    ):
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "list_models", "arguments": {}},
        }
        client.post(body, traceparent=f"00-{trace}-b7ad6b7169203331-01")
        logged = json.loads(read_stderr_line(process))

    assert logged["trace"] == trace


def test_a_crash_reveals_no_details_to_the_caller(tmp_path: Path) -> None:
    with misbehaving_server(tmp_path) as (client, _):
        reply = client.legacy("tools/call", name="crash", arguments={})

    assert reply.json()["error"]["code"] == -32603
    assert b"internal detail" not in reply.body


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])  # noqa: S104
def test_without_authentication_only_loopback_is_bound(host: str) -> None:
    with (
        pytest.raises(ConfigurationError, match="listens on loopback only"),
        open_listener(HttpSettings(host=host, port=0)),
    ):
        pass


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_loopback_is_bound_however_it_is_spelled(host: str) -> None:
    with open_listener(HttpSettings(host=host, port=0)) as listener:
        assert listener.getsockname()[1] > 0


def test_a_port_in_use_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]

        with (
            pytest.raises(NetworkError, match="cannot be had"),
            open_listener(HttpSettings(port=port)),
        ):
            pass


def test_serve_announces_its_address_and_exits_with_zero(tmp_path: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        environment = clean_environment(tmp_path)
        with http_server(junto_command("serve", "--port", "0"), environment, tmp_path) as (
            client,
            process,
        ):
            assert client.get("/health").status == 200
            process.send_signal(number)
            _, errors = process.communicate(timeout=TIMEOUT_SECONDS)

        assert b"Junto has stopped." in errors
        assert process.returncode == 0
