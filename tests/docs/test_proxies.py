"""The reverse proxies of the manual, run for real: authentication and streaming."""

import contextlib
import http.client
import json
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients import TIMEOUT_SECONDS, clean_environment, http_server, junto_command
from tests.docs.pages import ROOT, ManualPage
from tests.fake_model_server import fake_model_server
from tests.processes import wait_until

PAGE = ManualPage(ROOT / "docs" / "how-to" / "operations.md")
KEY = "change-me"


def nginx(folder: Path, port: int, junto_port: int) -> list[str]:
    [block] = PAGE.blocks("nginx")
    block = block.replace("listen 443 ssl", f"listen 127.0.0.1:{port}")
    block = re.sub(r" +ssl_.*\n", "", block).replace("127.0.0.1:32701", f"127.0.0.1:{junto_port}")
    temp_paths = "".join(
        f"{each}_temp_path {folder}/{each};\n"
        for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log stderr;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{temp_paths}{block}\n}}\n"
    )
    return [_find_program("nginx"), "-c", str(config), "-p", str(folder), "-e", "stderr"]


def caddy(folder: Path, port: int, junto_port: int) -> list[str]:
    [block] = PAGE.blocks("caddyfile")
    block = block.replace("junto.example.org {", f"http://junto.example.org:{port} {{", 1)
    config = folder / "Caddyfile"
    config.write_text(
        "{\n    admin off\n    auto_https off\n    default_bind 127.0.0.1\n}\n"
        + block.replace("127.0.0.1:32701", f"127.0.0.1:{junto_port}")
    )
    return [_find_program("caddy"), "run", "--config", str(config), "--adapter", "caddyfile"]


def _find_program(name: str) -> str:
    ours = Path(sys.executable).parent  # caddy comes from a wheel
    return shutil.which(name, path=f"{ours}:/usr/sbin:/usr/bin:/usr/local/bin") or ""


@contextlib.contextmanager
def run_proxy(command: list[str], folder: Path, port: int) -> Iterator[None]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "ACCESS_TOKEN": KEY}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            assert wait_until(lambda: _is_listening(port))
            yield
        finally:
            process.terminate()
            process.wait(TIMEOUT_SECONDS)


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def _endless_answer(port: int, key: str) -> Iterator[http.client.HTTPResponse]:
    """Request an answer that never ends, yield it as soon as it starts, and disconnect."""
    params = {"name": "chat", "arguments": {"message": "drip"}, "_meta": {"progressToken": 1}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Host": "junto.example.org",
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    with contextlib.closing(connection):
        connection.request("POST", "/mcp", json.dumps(body), headers)
        with connection.getresponse() as response:
            yield response


@pytest.mark.parametrize("proxy", [nginx, caddy], ids=lambda proxy: proxy.__name__)
def test_a_proxy_requires_the_key_and_streams_the_answer(
    proxy: Callable[[Path, int, int], list[str]], tmp_path: Path
) -> None:
    if not _find_program(proxy.__name__):
        pytest.skip(f"there is no {proxy.__name__}")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with fake_model_server() as upstream:
        entry = {"id": "m", "provider": "anthropic", "baseUrl": upstream.url, "apiKey": "k"}
        environment = clean_environment(
            tmp_path, JUNTO_MODELS=json.dumps([entry]), JUNTO_HTTP_DRAIN="0", JUNTO_JOBS_DRAIN="0",
            JUNTO_HTTP_ALLOWED_HOSTS="junto.example.org",
        )  # fmt: skip
        server = http_server(junto_command("serve", "--port", "0"), environment, tmp_path)
        with server as (client, _), run_proxy(proxy(tmp_path, port, client.port), tmp_path, port):
            with _endless_answer(port, "wrong") as refused:
                status = refused.status
            with _endless_answer(port, KEY) as answer:
                # The answer never ends, so the proxy cannot have buffered all of it.
                first_event = next(line for line in answer if line.startswith(b"data:"))

    assert status == 401
    assert json.loads(first_event[5:])["method"] == "notifications/progress"
