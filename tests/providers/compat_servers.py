"""Model APIs that nobody here wrote, each in a process of its own on loopback."""

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

from tests.clients import SECONDS, HttpClient, Json

NODE = Path(__file__).parents[1] / "node" / "node_modules" / ".bin"
AIMOCK = NODE / "aimock"
# npm's aimock brings a program called llmock too, so this one is looked for beside Python only.
LLMOCK = Path(sys.executable).parent / "llmock"


@contextlib.contextmanager
def aimock(home: Path, key: str, fixtures: Sequence[Json]) -> Iterator[str]:
    """Serve `fixtures` to whoever has `key`, a few letters at a time, and return the address."""
    answers, config = home / "fixtures.json", home / "aimock.json"
    answers.write_text(json.dumps({"fixtures": fixtures}))
    llm = {"fixtures": str(answers), "chunkSize": 8}
    config.write_text(json.dumps({"llm": llm, "auth": {"apiKeys": [key]}}))
    command = [str(AIMOCK), "--config", str(config), "--port", "0"]
    with _running(command, home, stdout=PIPE, stderr=DEVNULL) as url:
        yield url


@dataclass(frozen=True)
class Llmock:
    """A server that answers with an echo, breaks as it is told to, and judges its clients."""

    url: str
    home: Path

    @classmethod
    @contextlib.contextmanager
    def started(cls, home: Path, *flags: str) -> Iterator["Llmock"]:
        command = [str(LLMOCK), "serve", "--port", "0", "--response-style", "echo", *flags]
        with _running(command, home, stdout=DEVNULL, stderr=PIPE) as url:
            yield cls(url, home)

    def will(self, *behaviours: Json) -> None:
        """Forget what was, and misbehave like this; each behaviour waits for its model's call."""
        self._admin("POST", "reset")
        self._admin("POST", "scenario", {"behaviors": behaviours})

    def attempts(self) -> Counter[str]:
        """Return how often each model was asked."""
        return Counter(request["model"] for request in self._admin("GET", "requests")["requests"])

    def report(self, *flags: str) -> "subprocess.CompletedProcess[str]":
        """Let it judge the client; the exit code is 1 if the client misbehaved."""
        return subprocess.run(
            [str(LLMOCK), "report", "--url", self.url, *flags],
            env=_environment(self.home),
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def _admin(self, method: str, what: str, body: Json | None = None) -> Json:
        client = HttpClient(int(self.url.rpartition(":")[2]))
        reply = client.send(method, f"/_llmock/{what}", json.dumps(body or {}).encode(), {})
        assert reply.status < 300, reply.body
        return reply.json()


def _environment(home: Path) -> dict[str, str]:
    return {"PATH": f"{NODE}{os.pathsep}{os.environ['PATH']}", "HOME": str(home)}


@contextlib.contextmanager
def _running(command: list[str], home: Path, *, stdout: int, stderr: int) -> Iterator[str]:
    # Only what announces the address is read: a log that nobody reads would stop the server.
    with subprocess.Popen(
        command, stdout=stdout, stderr=stderr, env=_environment(home), cwd=home, text=True
    ) as process:
        try:
            yield _address(process.stdout or process.stderr)
        finally:
            process.kill()


def _address(said: IO[str] | None) -> str:
    assert said
    heard = []
    for line in said:
        if found := re.search(r"(?:listening|running) on (http://127\.0\.0\.1:\d+)", line):
            return found[1]
        heard.append(line)
    raise AssertionError("".join(heard))
