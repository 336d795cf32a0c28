"""Adapters for the Claude Agent SDK: its transport, its session store and transcript files.

The transport exchanges JSON lines over the pipes of a process that the launcher owns.
"""

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from junto.domain.errors import ExecutionError
from junto.domain.sessions import SessionStore, TranscriptLine

# Size limit of one message from the CLI.
MAX_LINE_BYTES = 64 * 1024 * 1024
# Number of stderr lines kept for error messages.
_MAX_STDERR_LINES = 50


class SdkTransport:
    """An SDK transport to a process that the caller starts and ends."""

    def __init__(
        self, process: asyncio.subprocess.Process, on_message: Callable[[dict[str, Any]], None]
    ) -> None:
        """Use the pipes of `process`; `on_message` gets each message before the SDK does."""
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise TypeError("a process without pipes cannot be spoken to")
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._on_message = on_message
        self._write_lock = asyncio.Lock()
        self._stderr_lines: deque[str] = deque(maxlen=_MAX_STDERR_LINES)
        self._stderr_task = asyncio.create_task(self._read_stderr())

    @property
    def stderr_tail(self) -> str:
        """The last lines of the process's stderr."""
        return "\n".join(self._stderr_lines)

    async def connect(self) -> None:
        """Do nothing: the process is already running."""

    async def write(self, data: str) -> None:
        """Write a line to stdin."""
        async with self._write_lock:
            self._stdin.write(data.encode())
            await self._stdin.drain()

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Yield messages until the process ends.

        Raises:
            ExecutionError: the process ended; the SDK passes this on to pending requests.
        """
        while line := await self._read_line():
            if line.startswith(b"{") and (message := self._parse_message(line)):
                self._on_message(message)
                yield message
        raise ExecutionError("it ended")

    async def close(self) -> None:
        """Close stdin and stop reading stderr."""
        self._stdin.close()
        self._stderr_task.cancel()

    async def end_input(self) -> None:
        """Close stdin."""
        self._stdin.close()

    def is_ready(self) -> bool:
        """Return whether stdin is open."""
        return not self._stdin.is_closing()

    def _parse_message(self, line: bytes) -> dict[str, Any] | None:
        try:
            message: dict[str, Any] = json.loads(line)
        except (ValueError, RecursionError):
            self._stderr_lines.append("It sent what is no message.")
            return None
        return message

    async def _read_line(self) -> bytes:
        try:
            return await self._stdout.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return b""  # end of the stream, or an incomplete last line
        except asyncio.LimitOverrunError:
            self._stderr_lines.append(f"It sent more than {MAX_LINE_BYTES // 2**20} MiB at once.")
            return b""

    async def _read_stderr(self) -> None:
        while chunk := await self._stderr.read(2**16):
            self._stderr_lines.extend(chunk.decode("utf-8", "replace").splitlines())


@dataclass(frozen=True, slots=True)
class MirrorSessionStore:
    """An SDK session store that mirrors transcripts into Junto's store."""

    store: SessionStore
    now: Callable[[], float] = time.time

    async def append(self, key: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> None:
        """Save transcript lines that the CLI has written."""
        part = str(key.get("subpath", ""))
        lines = [TranscriptLine(part, json.dumps(entry), entry.get("uuid")) for entry in entries]
        await self.store.append(str(key["session_id"]), lines, self.now())

    async def load(self, _key: Mapping[str, Any]) -> None:
        """Return nothing: `write_transcript` has already provided the resumed transcript."""
        return


def write_transcript(lines: Sequence[TranscriptLine], session_id: str, project_dir: Path) -> None:
    """Write a transcript to the files from which the CLI resumes a session."""
    for part in dict.fromkeys(line.part for line in lines):
        path = (
            project_dir / session_id / f"{part}.jsonl"
            if part
            else project_dir / f"{session_id}.jsonl"
        )
        if not path.resolve().is_relative_to(project_dir.resolve()):
            continue  # a part must not be written outside of the project directory
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"{line.text}\n" for line in lines if line.part == part)
