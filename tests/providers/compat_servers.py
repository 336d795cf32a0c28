"""Third-party emulators of model APIs, each in its own process on loopback."""

import contextlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import IO

from tests.clients import TIMEOUT_SECONDS, HttpClient, Json

NODE = Path(__file__).parents[1] / "node" / "node_modules" / ".bin"
AIMOCK = NODE / "aimock"
# npm's aimock also installs a program called llmock, so look for this one only next to Python.
LLMOCK = Path(sys.executable).parent / "llmock"


@contextlib.contextmanager
def aimock(home: Path, key: str, fixtures: Sequence[Json]) -> Iterator[str]:
    """Serve `fixtures` to clients that send `key`, in small chunks, and yield the base URL."""
    fixtures_path, config_path = home / "fixtures.json", home / "aimock.json"
    fixtures_path.write_text(json.dumps({"fixtures": fixtures}))
    llm = {"fixtures": str(fixtures_path), "chunkSize": 8}
    config_path.write_text(json.dumps({"llm": llm, "auth": {"apiKeys": [key]}}))
    command = [str(AIMOCK), "--config", str(config_path), "--port", "0"]
    with _run(command, home, stdout=PIPE, stderr=DEVNULL) as url:
        yield url


@dataclass(frozen=True)
class Llmock:
    """A server that echoes its input, injects the faults it is given, and grades its clients."""

    url: str
    home: Path

    @classmethod
    @contextlib.contextmanager
    def start(cls, home: Path, *flags: str) -> Iterator["Llmock"]:
        command = [str(LLMOCK), "serve", "--port", "0", "--response-style", "echo", *flags]
        with _run(command, home, stdout=DEVNULL, stderr=PIPE) as url:
            yield cls(url, home)

    def enqueue(self, *behaviours: Json) -> None:
        """Reset the server, then queue these behaviours; each waits for a call to its model."""
        self._call_admin_api("POST", "reset")
        self._call_admin_api("POST", "scenario", {"behaviors": behaviours})

    def attempts(self) -> Counter[str]:
        """Return how many requests each model received."""
        return Counter(
            request["model"] for request in self._call_admin_api("GET", "requests")["requests"]
        )

    def report(self, *flags: str) -> "subprocess.CompletedProcess[str]":
        """Run llmock's report on its clients; the exit code is 1 if one misbehaved."""
        return subprocess.run(
            [str(LLMOCK), "report", "--url", self.url, *flags],
            env=_environment(self.home),
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )

    def _call_admin_api(self, method: str, path: str, body: Json | None = None) -> Json:
        client = HttpClient(int(self.url.rpartition(":")[2]))
        response = client.send(method, f"/_llmock/{path}", json.dumps(body or {}).encode(), {})
        assert response.status < 300, response.body
        return response.json()


def _environment(home: Path) -> dict[str, str]:
    return {"PATH": f"{NODE}{os.pathsep}{os.environ['PATH']}", "HOME": str(home)}


@contextlib.contextmanager
def _run(command: list[str], home: Path, *, stdout: int, stderr: int) -> Iterator[str]:
    # Pipe only the stream that announces the address: an unread log would block the server.
    with subprocess.Popen(
        command, stdout=stdout, stderr=stderr, env=_environment(home), cwd=home, text=True
    ) as process:
        try:
            yield _read_address(process.stdout or process.stderr)
        finally:
            process.kill()


def _read_address(output: IO[str] | None) -> str:
    assert output
    lines = []
    for line in output:
        if match := re.search(r"(?:listening|running) on (http://127\.0\.0\.1:\d+)", line):
            return match[1]
        lines.append(line)
    raise AssertionError("".join(lines))
