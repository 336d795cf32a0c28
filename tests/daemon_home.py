"""A home of its own with a background server in it, and the commands of its user."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.clients import SECONDS, HttpClient, Json, StdioClient, child, clean_environment, junto
from tests.processes import command_lines, until


@dataclass(frozen=True)
class Household:
    home: Path
    environment: dict[str, str]

    @property
    def folder(self) -> Path:
        return self.home / "data" / "junto" / "background"

    @property
    def record(self) -> Path:
        return self.folder / "server.json"

    @property
    def log(self) -> Path:
        return self.home / "data" / "junto" / "logs" / "background.log"

    def run(self, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        with self.begun(*words, **variables) as process:
            out, err = process.communicate(timeout=SECONDS)
            return subprocess.CompletedProcess(words, process.returncode, out, err)

    def begun(self, *words: str, **variables: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            junto(*words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment | variables,
            cwd=self.home,
        )

    @contextlib.contextmanager
    def client(self, cwd: Path | None = None, **variables: str) -> Iterator[StdioClient]:
        """Start `junto mcp --shared`, and let it end when the test has asked all it wants to."""
        command, environment = junto("mcp", "--shared"), self.environment | variables
        with child(command, environment, cwd or self.home, measured=True) as client:
            yield client
            assert client.finish() == (0, b"")

    def told(self) -> Json:
        told: Json = json.loads(self.record.read_text())
        return told

    def http(self) -> HttpClient:
        return HttpClient(int(self.told()["url"].rpartition(":")[2]))

    def servers(self) -> list[int]:
        """Return the pids of the background servers that live in this home."""
        found = []
        for pid, words in command_lines().items():
            with contextlib.suppress(OSError):
                variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                if "--background" in words and f"HOME={self.home}".encode() in variables:
                    found.append(pid)
        return found

    def killed(self) -> int:
        """Kill the server as nobody should, and return which it was."""
        (pid,) = self.servers()
        os.kill(pid, signal.SIGKILL)
        assert until(lambda: not self.servers())
        return pid


@contextlib.contextmanager
def household(home: Path, **variables: str) -> Iterator[Household]:
    """Yield a home whose server takes any port, and see to it that none is left."""
    environment = clean_environment(home, **{"JUNTO_HTTP_PORT": "0", **variables})
    found = Household(home, environment)
    try:
        yield found
    finally:
        if found.servers():
            found.run("stop")
        for pid in found.servers():
            os.kill(pid, signal.SIGKILL)
