"""Junto behind a real Caddy with the Caddyfile of compose.yaml."""

import contextlib
import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients import (
    TIMEOUT_SECONDS,
    HttpClient,
    clean_environment,
    http_server,
    junto_command,
    tool_names,
)
from tests.deploy.dockerfile import ROOT
from tests.fake_model_server import fake_model_server
from tests.processes import wait_until

CADDY = Path(sys.executable).parent / "caddy"
KEY = "3f9a0c1e5b7d"
HOST = "junto.example.org"


@dataclass(frozen=True)
class Proxy:
    """A running proxy, and the port of the Junto behind it."""

    client: HttpClient
    junto_port: int

    def list_tools(self, authorization: str | None, host: str = HOST) -> tuple[int, str]:
        """Request the list of tools, and return the status and the body."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        headers = {"MCP-Protocol-Version": "2025-06-18", "Host": host}
        reply = self.client.post(message, **headers, Authorization=authorization or "")
        return reply.status, reply.body.decode()


@contextlib.contextmanager
def _run_proxy(home: Path, junto_port: int, **key: str) -> Iterator[Proxy]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        proxy_port = probe.getsockname()[1]
    variables = {
        "HTTP_PORT": str(proxy_port),
        "JUNTO_PORT": str(junto_port),
        "SITE_ADDRESS": "http://",
    }
    command = [str(CADDY), "run", "--config", str(ROOT / "deploy" / "Caddyfile")]
    environment = clean_environment(home, **variables, **key)
    with subprocess.Popen(
        command, env=environment, cwd=home, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            assert wait_until(lambda: _is_listening(proxy_port))
            yield Proxy(HttpClient(proxy_port), junto_port)
        finally:
            process.terminate()
            process.wait(TIMEOUT_SECONDS)


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with fake_model_server() as upstream:
        model = {"id": "m", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
        variables = {
            "JUNTO_MODELS": json.dumps([model]),
            "JUNTO_HTTP_ALLOWED_HOSTS": HOST,
            "JUNTO_HTTP_DRAIN": "1",
            "JUNTO_JOBS_DRAIN": "0",
        }
        environment = clean_environment(tmp_path, **variables)
        command = junto_command("serve", "--port", "0")
        with (
            http_server(command, environment, tmp_path) as (client, _),
            _run_proxy(tmp_path, client.port, ACCESS_TOKEN=KEY) as proxy,
        ):
            yield proxy


def test_only_requests_with_the_key_are_accepted(proxy: Proxy) -> None:
    status, body = proxy.list_tools(f"Bearer {KEY}")
    assert status == 200
    tools = [tool["name"] for tool in json.loads(body)["result"]["tools"]]
    assert tools == tool_names(over_http=True)

    for authorization in (
        None,
        "Bearer",
        "Bearer ",
        f"Bearer {KEY}0",
        f"Bearer {KEY[:-1]}",
        KEY,
        "Bearer *",
    ):
        assert proxy.list_tools(authorization) == (
            401,
            "A key is needed: Authorization: Bearer KEY.",
        )
    for path in ("/", "/health", "/metrics", "/ready"):
        assert proxy.client.get(path, Host=HOST).status == 401


@pytest.mark.parametrize("key", [{}, {"ACCESS_TOKEN": ""}], ids=["none", "empty"])
def test_without_a_configured_key_every_request_is_refused(
    proxy: Proxy, key: dict[str, str], tmp_path: Path
) -> None:
    with _run_proxy(tmp_path, proxy.junto_port, **key) as proxy_without_key:
        for authorization in ("Bearer", "Bearer ", f"Bearer {KEY}", "Bearer {env.ACCESS_TOKEN}"):
            assert proxy_without_key.list_tools(authorization)[0] == 401


def test_a_star_in_the_key_is_not_a_wildcard(proxy: Proxy, tmp_path: Path) -> None:
    with _run_proxy(tmp_path, proxy.junto_port, ACCESS_TOKEN="ab*") as proxy_with_star:  # noqa: S106
        assert proxy_with_star.list_tools("Bearer ab*")[0] == 200
        assert proxy_with_star.list_tools("Bearer abc")[0] == 401


def test_junto_still_checks_the_host(proxy: Proxy) -> None:
    status, body = proxy.list_tools(f"Bearer {KEY}", host="elsewhere.example.org")

    assert status == 421
    assert "http.allowed_hosts" in body


def test_progress_is_streamed_while_the_answer_is_generated(proxy: Proxy) -> None:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        # This answer never ends, so the proxy cannot have buffered all of it.
        "params": {
            "name": "chat",
            "arguments": {"message": "drip"},
            "_meta": {"progressToken": 1},
        },
    }
    headers = {
        "Host": HOST,
        "Authorization": f"Bearer {KEY}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    connection = http.client.HTTPConnection("127.0.0.1", proxy.client.port, timeout=TIMEOUT_SECONDS)
    with contextlib.closing(connection):
        connection.request("POST", "/mcp", json.dumps(message), headers)
        response = connection.getresponse()
        with contextlib.closing(response):
            data = next(line for line in response if line.startswith(b"data:") and line[5:].strip())

    assert json.loads(data[5:])["method"] == "notifications/progress"
