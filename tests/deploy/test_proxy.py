"""Junto behind the proxy of compose.yaml: a real one, with the file that it gets there."""

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

from tests.clients import HTTP_TOOLS, SECONDS, HttpClient, clean_environment, http_server, junto
from tests.deploy.recipe import ROOT
from tests.processes import until
from tests.server_upstream import served_upstream

CADDY = Path(sys.executable).parent / "caddy"
KEY = "3f9a0c1e5b7d"
HOST = "junto.example.org"


@dataclass(frozen=True)
class Front:
    """What clients see."""

    client: HttpClient
    behind: int

    def list(self, key: str | None, host: str = HOST) -> tuple[int, str]:
        """Ask for the tools, and return the status and what was said."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        headers = {"MCP-Protocol-Version": "2025-06-18", "Host": host}
        reply = self.client.post(message, **headers, Authorization=key or "")
        return reply.status, reply.body.decode()


@contextlib.contextmanager
def _proxied(home: Path, port: int, **key: str) -> Iterator[Front]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        front = free.getsockname()[1]
    variables = {"HTTP_PORT": str(front), "JUNTO_PORT": str(port), "SITE_ADDRESS": "http://"}
    command = [str(CADDY), "run", "--config", str(ROOT / "deploy" / "Caddyfile")]
    environment = clean_environment(home, **variables, **key)
    with subprocess.Popen(
        command, env=environment, cwd=home, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as proxy:
        try:
            assert until(lambda: _listens(front))
            yield Front(HttpClient(front), port)
        finally:
            proxy.terminate()
            proxy.wait(SECONDS)


def _listens(port: int) -> bool:
    with socket.socket() as knocking:
        return knocking.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    with served_upstream() as upstream:
        model = {"id": "m", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
        variables = {
            "JUNTO_MODELS": json.dumps([model]),
            "JUNTO_HTTP_ALLOWED_HOSTS": HOST,
            "JUNTO_HTTP_DRAIN": "1",
            "JUNTO_JOBS_DRAIN": "0",
        }
        environment = clean_environment(tmp_path, **variables)
        serving = junto("serve", "--port", "0")
        with (
            http_server(serving, environment, tmp_path) as (client, _),
            _proxied(tmp_path, client.port, ACCESS_TOKEN=KEY) as front,
        ):
            yield front


def test_only_who_has_the_key_gets_in(front: Front) -> None:
    status, said = front.list(f"Bearer {KEY}")
    assert status == 200
    tools = [tool["name"] for tool in json.loads(said)["result"]["tools"]]
    assert tools == HTTP_TOOLS

    for key in (None, "Bearer", "Bearer ", f"Bearer {KEY}0", f"Bearer {KEY[:-1]}", KEY, "Bearer *"):
        assert front.list(key) == (401, "A key is needed: Authorization: Bearer KEY.")
    for path in ("/", "/health", "/metrics", "/ready"):
        assert front.client.get(path, Host=HOST).status == 401


@pytest.mark.parametrize("key", [{}, {"ACCESS_TOKEN": ""}], ids=["none", "empty"])
def test_where_no_key_is_set_nobody_does(front: Front, key: dict[str, str], tmp_path: Path) -> None:
    with _proxied(tmp_path, front.behind, **key) as open_to_nobody:
        for tried in ("Bearer", "Bearer ", f"Bearer {KEY}", "Bearer {env.ACCESS_TOKEN}"):
            assert open_to_nobody.list(tried)[0] == 401


def test_a_star_in_a_key_is_a_star(front: Front, tmp_path: Path) -> None:
    with _proxied(tmp_path, front.behind, ACCESS_TOKEN="ab*") as starred:  # noqa: S106
        assert starred.list("Bearer ab*")[0] == 200
        assert starred.list("Bearer abc")[0] == 401


def test_junto_still_asks_who_is_meant(front: Front) -> None:
    status, said = front.list(f"Bearer {KEY}", host="elsewhere.example.org")

    assert status == 421
    assert "http.allowed_hosts" in said


def test_progress_comes_while_the_answer_is_made(front: Front) -> None:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        # This one never ends, so whatever comes has not been waited for.
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
    connection = http.client.HTTPConnection("127.0.0.1", front.client.port, timeout=SECONDS)
    with contextlib.closing(connection):
        connection.request("POST", "/mcp", json.dumps(message), headers)
        response = connection.getresponse()
        with contextlib.closing(response):
            data = next(line for line in response if line.startswith(b"data:") and line[5:].strip())

    assert json.loads(data[5:])["method"] == "notifications/progress"
