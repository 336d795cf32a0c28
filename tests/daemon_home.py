"""A home of its own with a background server in it, and the commands of its user."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.clients import (
    TIMEOUT_SECONDS,
    HttpClient,
    Json,
    StdioClient,
    clean_environment,
    junto_command,
    stdio_server,
)
from tests.processes import command_lines, wait_until


@dataclass(frozen=True)
class DaemonHome:
    home: Path
    environment: dict[str, str]

    @property
    def daemon_dir(self) -> Path:
        return self.home / "data" / "junto" / "background"

    @property
    def record_path(self) -> Path:
        return self.daemon_dir / "server.json"

    @property
    def log_path(self) -> Path:
        return self.home / "data" / "junto" / "logs" / "background.log"

    def run(self, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        with self.spawn(*words, **variables) as process:
            out, err = process.communicate(timeout=TIMEOUT_SECONDS)
            return subprocess.CompletedProcess(words, process.returncode, out, err)

    def spawn(self, *words: str, **variables: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            junto_command(*words),
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
        command, environment = junto_command("mcp", "--shared"), self.environment | variables
        with stdio_server(command, environment, cwd or self.home, with_coverage=True) as client:
            yield client
            assert client.finish() == (0, b"")

    def read_record(self) -> Json:
        told: Json = json.loads(self.record_path.read_text())
        return told

    def http_client(self) -> HttpClient:
        return HttpClient(int(self.read_record()["url"].rpartition(":")[2]))

    def find_pids(self) -> list[int]:
        """Return the pids of the background servers that live in this home."""
        found = []
        for pid, words in command_lines().items():
            with contextlib.suppress(OSError):
                variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                if "--background" in words and f"HOME={self.home}".encode() in variables:
                    found.append(pid)
        return found

    def kill(self) -> int:
        """Kill the server as nobody should, and return which it was."""
        (pid,) = self.find_pids()
        os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: not self.find_pids())
        return pid


@contextlib.contextmanager
def daemon_home(home: Path, **variables: str) -> Iterator[DaemonHome]:
    """Yield a home whose server takes any port, and see to it that none is left."""
    environment = clean_environment(home, **{"JUNTO_HTTP_PORT": "0", **variables})
    found = DaemonHome(home, environment)
    try:
        yield found
    finally:
        if found.find_pids():
            found.run("stop")
        for pid in found.find_pids():
            os.kill(pid, signal.SIGKILL)
