"""Servers in processes of their own, and what they cost."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024

HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


@dataclass(frozen=True)
class Process:
    """A running server."""

    popen: "subprocess.Popen[bytes]"

    def cpu(self) -> float:
        """Return the seconds of processor time that all its threads have used."""
        tasks = Path(f"/proc/{self.popen.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def rss_mib(self) -> float:
        fields = self._stat().rpartition(")")[2].split()
        return int(fields[21]) * _PAGE_KIB / 1024

    def _stat(self) -> str:
        return Path(f"/proc/{self.popen.pid}/stat").read_text()

    def ask(self, method: str, params: dict[str, Any], number: int = 1) -> dict[str, Any]:
        """Send one request on standard input and wait for its answer."""
        assert self.popen.stdin  # noqa: S101
        assert self.popen.stdout  # noqa: S101
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.popen.stdin.write(json.dumps(message).encode() + b"\n")
        self.popen.stdin.flush()
        answer: dict[str, Any] = json.loads(self.popen.stdout.readline())
        if "result" not in answer:
            raise RuntimeError(answer)
        return answer


def environment() -> dict[str, str]:
    """Return our environment, with bytecode allowed as on a user's machine, and no user's state."""
    ours = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {"JUNTO_STATE_DIRECTORY": _scratch().name} | ours


@cache
def _scratch() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder that goes with this process: what is measured is counted nowhere else."""
    return tempfile.TemporaryDirectory(prefix="junto-bench-")


def command(*words: str) -> list[str]:
    if words[0] == "junto":
        return [str(Path(sys.executable).with_name("junto")), *words[1:]]
    return [sys.executable, "-m", *words]


@contextlib.contextmanager
def on_stdio(*words: str) -> Iterator[Process]:
    popen = subprocess.Popen(
        command(*words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    )
    try:
        yield Process(popen)
    finally:
        assert popen.stdin  # noqa: S101
        assert popen.stdout  # noqa: S101
        popen.stdin.close()
        popen.wait(30)
        popen.stdout.close()


@contextlib.contextmanager
def on_http(*words: str) -> Iterator[tuple[Process, int]]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    popen = subprocess.Popen(
        command(*[word.format(port=port) for word in words]),
        env=environment(),
        stderr=subprocess.DEVNULL,
    )
    try:
        _await_port(port)
        yield Process(popen), port
    finally:
        popen.terminate()
        popen.wait(30)


def _await_port(port: int) -> None:
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise TimeoutError(port)


def post(
    connection: http.client.HTTPConnection, body: dict[str, Any], headers: dict[str, str]
) -> bytes:
    connection.request(
        "POST",
        "/mcp",
        json.dumps(body),
        {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **headers,
        },
    )
    response = connection.getresponse()
    content = response.read()
    if response.status != 200 or b'"result"' not in content:
        raise RuntimeError(content)
    return content
