"""The client side of the parser process: starting it, sending requests, stopping it."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from junto import version
from junto.domain.errors import CancelledCallError, ExecutionError
from junto.knowledge.formats.frames import PREFIX_BYTES, decode_header, decode_prefix, encode_header
from junto.knowledge.formats.text import UnreadableFileError
from junto.runtime.processes import ProcessSpec, run_supervised

_START_TIMEOUT_SECONDS = 60.0
_WORKER_MODULE = "junto.knowledge.formats.worker_main"
# System paths that Python needs to start.
_SYSTEM_PATHS = (
    "/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/urandom", "/nix/store",
)  # fmt: skip
_LIBRARY_DIR_NAMES = ("site-packages", "dist-packages")
_IO_CHUNK_BYTES = 64 * 1024

# Header and body.
_Response = tuple[dict[str, Any], bytes]


class _ProcessExitedError(Exception):
    """The process exited, or sent an invalid response."""


@dataclass(slots=True)
class _ParserProcess:
    """A process that parses one file after another."""

    _process: asyncio.subprocess.Process
    _stack: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)
    # Number of files parsed so far.
    response_count: int = 0

    @classmethod
    async def start(cls, max_memory_bytes: int) -> "_ParserProcess":
        """Start a process with a memory limit.

        Raises:
            ExecutionError: it does not start.
        """
        if sys.platform == "win32":  # where processes cannot be sandboxed, or reliably stopped
            raise ExecutionError("Only plain text can be read on Windows yet.")
        async with contextlib.AsyncExitStack() as stack:
            directory_fd = os.open("/", os.O_RDONLY)
            try:
                process = await stack.enter_async_context(
                    run_supervised(
                        _build_process_spec(directory_fd, max_memory_bytes),
                        pipe_stdin=True,
                        max_line_bytes=2**20,
                    )
                )
            finally:
                os.close(directory_fd)
            parser_process = cls(process)
            try:
                async with asyncio.timeout(_START_TIMEOUT_SECONDS):
                    await parser_process._receive()
            except (_ProcessExitedError, TimeoutError):
                message = await _read_startup_error(process)
                raise ExecutionError(
                    f"The process that reads documents does not start: {message}"
                ) from None
            parser_process._stack = stack.pop_all()
        return parser_process

    async def request(self, header: Mapping[str, Any], content: bytes) -> _Response:
        """Send a request, and return the response.

        Raises:
            _ProcessExitedError: the process exited, or its response is invalid.
        """
        writer = self._process.stdin
        assert writer is not None  # noqa: S101 - started with pipes
        prefix = encode_header(header, content)
        try:
            if len(content) < _IO_CHUNK_BYTES:
                writer.write(prefix + content)
            else:
                writer.write(prefix)
                writer.write(content)
            await writer.drain()
        except ConnectionError:
            raise _ProcessExitedError from None
        response = await self._receive()
        self.response_count += 1
        return response

    async def stop(self) -> None:
        """Stop the process, and everything that it started."""
        await self._stack.aclose()

    async def _receive(self) -> _Response:
        reader = self._process.stdout
        assert reader is not None  # noqa: S101 - started with pipes
        try:
            header_length, body_length = decode_prefix(await reader.readexactly(PREFIX_BYTES))
            return decode_header(await reader.readexactly(header_length)), await reader.readexactly(
                body_length
            )
        except (asyncio.IncompleteReadError, ConnectionError, ValueError, RecursionError):
            raise _ProcessExitedError from None


def _build_process_spec(directory: int, max_memory_bytes: int) -> ProcessSpec:
    import_paths = [*_iter_import_paths()]
    return ProcessSpec(
        command=[sys.executable, "-P", "-s", "-B", "-m", _WORKER_MODULE],
        directory=directory,
        environment={"PYTHONPATH": os.pathsep.join(import_paths), "LANG": "C.UTF-8"},
        limits={
            "RLIMIT_AS": max_memory_bytes,
            "RLIMIT_CORE": 0,
            "RLIMIT_FSIZE": 0,
            "RLIMIT_NOFILE": 64,
        },
        max_processes=1,
        grace=0,
        confined=True,
        network=False,
        readable=[*_SYSTEM_PATHS, *_iter_python_dirs(), *import_paths],
        writable=["/dev/null"],
        hide_rest=True,
    )


def _iter_python_dirs() -> Iterator[str]:
    """Yield the directories of the Python installation."""
    yield from {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}
    yield str(Path(sys.executable).parent)
    yield str(Path(os.path.realpath(sys.executable)).parent)


def _iter_import_paths() -> Iterator[str]:
    """Yield the directories of Junto and its libraries, never the current directory."""
    yield str(Path(version.__file__).parents[1])
    yield from (directory for directory in sys.path if Path(directory).name in _LIBRARY_DIR_NAMES)


async def _read_startup_error(process: asyncio.subprocess.Process) -> str:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    output = await process.stderr.read(_IO_CHUNK_BYTES) if process.stderr else b""
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it says nothing"


@dataclass(slots=True)
class ParserWorker:
    """A worker with at most one parser process, which is started on first use."""

    timeout: float
    max_memory_bytes: int
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _process: _ParserProcess | None = None
    _closed: bool = False

    async def request(self, header: Mapping[str, Any], content: bytes) -> _Response:
        """Send a request to the process, and return its response.

        Raises:
            UnreadableFileError: parsing takes too long or too much memory, or crashes the process.
            ExecutionError: the process does not start.
            CancelledCallError: the worker was closed meanwhile.
        """
        async with self._lock:
            while True:
                process = await self._ensure_process()
                is_fresh = process.response_count == 0
                response = await self._try_request(process, header, content)
                if response and "exhausted" not in response[0]:
                    return response
                await self._stop_process()
                if is_fresh and not self._closed:
                    raise UnreadableFileError(
                        "takes too much memory to read"
                        if response
                        else "breaks what reads it; it is broken itself, or too large"
                    )
                # Earlier files may be to blame, so try once more in a new process.

    async def close(self) -> None:
        """Stop the process, even while it is parsing."""
        self._closed = True
        await self._stop_process()
        async with self._lock:  # a process may just have been started
            await self._stop_process()

    async def _ensure_process(self) -> _ParserProcess:
        if self._process is None and not self._closed:
            self._process = await _ParserProcess.start(self.max_memory_bytes)
        if self._process is None or self._closed:  # maybe closed during the start
            await self._stop_process()
            raise CancelledCallError("Reading was stopped before it was done.")
        return self._process

    async def _try_request(
        self, process: _ParserProcess, header: Mapping[str, Any], content: bytes
    ) -> _Response | None:
        """Return the response, or None if the process exited; stop it on any failure."""
        response = None
        try:
            async with asyncio.timeout(self.timeout):
                response = await process.request(header, content)
        except TimeoutError:
            raise UnreadableFileError(f"takes longer than {self.timeout:g} s to read") from None
        except _ProcessExitedError:
            return None
        finally:
            if response is None:  # on cancellation, too
                await self._stop_process()
        return response

    async def _stop_process(self) -> None:
        if process := self._process:
            self._process = None
            await process.stop()
