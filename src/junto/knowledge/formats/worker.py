"""Our side of the child that reads files: its start, what it is asked, its end."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import junto
from junto.domain.errors import ExecutionError
from junto.knowledge.formats.frames import LENGTHS, header_of, lengths, packed
from junto.work.processes import Task, kept

_START_SECONDS = 60.0
_PROGRAM = "junto.knowledge.formats.child"
# What Python needs of the system to start.
_SYSTEM = (
    "/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/urandom", "/nix/store",
)  # fmt: skip
_LIBRARIES = ("site-packages", "dist-packages")
_SMALL = 64 * 1024


class GoneError(Exception):
    """The child has ended, or says what makes no sense."""


@dataclass(slots=True)
class Child:
    """A process that reads one file after another."""

    _process: asyncio.subprocess.Process
    _stack: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)
    # How many files it has read.
    answers: int = 0

    @classmethod
    async def started(cls, memory: int) -> "Child":
        """Start one that may have so many bytes of memory.

        Raises:
            ExecutionError: it does not start.
        """
        if sys.platform == "win32":  # whose processes nothing here can confine, or end for sure
            raise ExecutionError("Only plain text can be read on Windows yet.")
        async with contextlib.AsyncExitStack() as stack:
            directory = os.open("/", os.O_RDONLY)
            try:
                process = await stack.enter_async_context(
                    kept(_task(directory, memory), spoken_to=True, longest_line=2**20)
                )
            finally:
                os.close(directory)
            child = cls(process)
            try:
                async with asyncio.timeout(_START_SECONDS):
                    await child._received()
            except (GoneError, TimeoutError):
                said = await _complaint(process)
                raise ExecutionError(
                    f"The process that reads documents does not start: {said}"
                ) from None
            child._stack = stack.pop_all()
        return child

    async def asked(
        self, header: Mapping[str, Any], content: bytes
    ) -> tuple[dict[str, Any], bytes]:
        """Return its answer.

        Raises:
            GoneError: there will be none.
        """
        writer = self._process.stdin
        assert writer is not None  # noqa: S101 - it was started with pipes
        start = packed(header, content)
        try:
            if len(content) < _SMALL:
                writer.write(start + content)
            else:
                writer.write(start)
                writer.write(content)
            await writer.drain()
        except ConnectionError:
            raise GoneError from None
        answer = await self._received()
        self.answers += 1
        return answer

    async def ended(self) -> None:
        """End it; nothing is left of it."""
        await self._stack.aclose()

    async def _received(self) -> tuple[dict[str, Any], bytes]:
        reader = self._process.stdout
        assert reader is not None  # noqa: S101 - it was started with pipes
        try:
            header, body = lengths(await reader.readexactly(LENGTHS))
            return header_of(await reader.readexactly(header)), await reader.readexactly(body)
        except (asyncio.IncompleteReadError, ConnectionError, ValueError, RecursionError):
            raise GoneError from None


def _task(directory: int, memory: int) -> Task:
    path = [*_path()]
    return Task(
        command=[sys.executable, "-P", "-s", "-B", "-m", _PROGRAM],
        directory=directory,
        environment={"PYTHONPATH": os.pathsep.join(path), "LANG": "C.UTF-8"},
        limits={"RLIMIT_AS": memory, "RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0, "RLIMIT_NOFILE": 64},
        grace=0,
        confined=True,
        network=False,
        readable=[*_SYSTEM, *_own(), *path],
        writable=["/dev/null"],
    )


def _own() -> Iterator[str]:
    """Yield the folders of this Python."""
    yield from {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}
    yield str(Path(sys.executable).parent)
    yield str(Path(os.path.realpath(sys.executable)).parent)


def _path() -> Iterator[str]:
    """Yield where it finds Junto and its libraries; never a folder that we only happen to be in."""
    yield str(Path(junto.__file__).parents[1])
    yield from (folder for folder in sys.path if Path(folder).name in _LIBRARIES)


async def _complaint(process: asyncio.subprocess.Process) -> str:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    said = await process.stderr.read(_SMALL) if process.stderr else b""
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it says nothing"
