"""The pipes to the program, as the SDK wants them: lines of JSON each way."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

from junto.domain.errors import ExecutionError

# The longest message, and what is kept of what the program complains about.
LONGEST_LINE = 64 * 1024 * 1024
_COMPLAINTS = 50


class Pipe:
    """A transport of the SDK to a process that somebody else starts and ends."""

    def __init__(
        self, process: asyncio.subprocess.Process, heard: Callable[[dict[str, Any]], None]
    ) -> None:
        """Speak with `process`, and let every message be `heard` before the SDK takes it."""
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise TypeError("a process without pipes cannot be spoken to")
        self._input, self._output, self._errors = process.stdin, process.stdout, process.stderr
        self._heard = heard
        self._writing = asyncio.Lock()
        self._complaints: deque[str] = deque(maxlen=_COMPLAINTS)
        self._reading = asyncio.create_task(self._listen())

    @property
    def complaints(self) -> str:
        """Return the last lines that the program wrote for people."""
        return "\n".join(self._complaints)

    async def connect(self) -> None:
        """Do nothing: the process runs."""

    async def write(self, data: str) -> None:
        """Send a line."""
        async with self._writing:
            self._input.write(data.encode())
            await self._input.drain()

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Yield messages until the program ends, which whoever waits for an answer must know."""
        while line := await self._line():
            if line.startswith(b"{") and (message := self._message(line)):
                self._heard(message)
                yield message
        raise ExecutionError("it ended")

    async def close(self) -> None:
        """Send nothing more."""
        self._input.close()
        self._reading.cancel()

    async def end_input(self) -> None:
        """Send nothing more."""
        self._input.close()

    def is_ready(self) -> bool:
        """Return whether anything can be sent."""
        return not self._input.is_closing()

    def _message(self, line: bytes) -> dict[str, Any] | None:
        try:
            message: dict[str, Any] = json.loads(line)
        except (ValueError, RecursionError):
            self._complaints.append("It sent what is no message.")
            return None
        return message

    async def _line(self) -> bytes:
        try:
            return await self._output.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return b""  # cut off in the middle, or at the end: nothing follows
        except asyncio.LimitOverrunError:
            self._complaints.append(f"It sent more than {LONGEST_LINE // 2**20} MiB at once.")
            return b""

    async def _listen(self) -> None:
        while piece := await self._errors.read(2**16):
            self._complaints.extend(piece.decode("utf-8", "replace").splitlines())
