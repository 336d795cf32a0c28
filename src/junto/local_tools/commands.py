"""Execution of allowed commands: no shell, a clean environment, and resource limits.

No process that a command starts outlives the call.
"""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from junto.domain.errors import ExecutionError, NotFoundError, SecurityError, TimeLimitError
from junto.runtime import seccomp
from junto.runtime.processes import ProcessSpec, run_supervised
from junto.security.commands import AllowedCommand, CommandPolicy
from junto.security.paths import Roots

_SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin"
# Paths that every program may read; they contain no user data.
_SYSTEM_PATHS = (
    "/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
    "/etc/alternatives", "/etc/magic", "/etc/ssl/certs", "/dev/urandom", "/dev/random",
    "/dev/zero", "/nix/store",
)  # fmt: skip
_WRITABLE_DEVICES = ("/dev/null",)
_EXCEEDED_MESSAGES = {
    "processes": "It started too many processes and was stopped (tools.command_processes).",
    "memory": "It used too much memory and was stopped (tools.command_memory).",
    "scratch": "It wrote too many temporary files and was stopped (tools.command_scratch).",
}
# Bytes of output that are returned, and bytes a command may write before it is stopped.
_MAX_CAPTURED_BYTES, _MAX_OUTPUT_BYTES = 200_000, 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLimits:
    """Resource limits for a command."""

    timeout_seconds: float = 30.0
    cpu_seconds: int = 60
    # The command and everything that it starts.
    memory_bytes: int = 2 * 1024**3
    processes: int = 256
    scratch_bytes: int = 256 * 1024**2
    file_bytes: int = 100 * 1024**2
    open_files: int = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutput:
    """The result of a command."""

    exit_code: int
    stdout: str
    stderr: str
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRunner:
    """A runner for the commands that the policy allows, below the allowed directories."""

    roots: Roots
    commands: CommandPolicy
    limits: CommandLimits = CommandLimits()
    # Whether the kernel confines commands to the allowed directories, where it can.
    sandboxed: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)

    async def run(
        self, name: str, arguments: Sequence[str], cwd: str | None, timeout_seconds: float | None
    ) -> CommandOutput:
        """Run a command and wait for it to exit.

        Raises:
            SecurityError: the command, or one of its arguments, is not allowed.
            TimeLimitError: it took too long and was killed.
            ExecutionError: it could not be started, or wrote too much.
        """
        base = cwd or "."
        with self.roots.open(base, os.O_RDONLY | os.O_DIRECTORY) as directory_fd:
            command = self.commands.check(
                name, arguments, lambda argument: self.roots.contains(argument, base=base)
            )
            timeout = min(
                timeout_seconds or self.limits.timeout_seconds, self.limits.timeout_seconds
            )
            if command.rule.runs_configured_programs and not seccomp.is_supported():
                raise SecurityError(
                    f"{name} is not run on this system: its kernel cannot keep a repository from "
                    "making it start programs. The operator can allow it in tools.commands."
                )
            with _create_scratch_dir() as scratch_dir:
                return await _run_process(
                    self._build_process_spec(command, directory_fd, scratch_dir), timeout
                )

    def _build_process_spec(
        self, command: AllowedCommand, directory_fd: int, scratch_dir: str
    ) -> ProcessSpec:
        program = command.rule.program or shutil.which(command.name, path=_SEARCH_PATH)
        if program is None:
            raise NotFoundError(f"{command.name} is not installed on this machine.")
        roots = [str(folder) for folder in self.roots.paths]
        return ProcessSpec(
            command=[program, *command.arguments],
            directory=directory_fd,
            environment=self._build_environment(scratch_dir),
            scratch=scratch_dir,
            limits={
                "RLIMIT_CPU": self.limits.cpu_seconds,
                "RLIMIT_AS": self.limits.memory_bytes,
                "RLIMIT_FSIZE": self.limits.file_bytes,
                "RLIMIT_NOFILE": self.limits.open_files,
                "RLIMIT_CORE": 0,
            },
            max_processes=self.limits.processes if command.rule.spawns else 1,
            max_memory_bytes=self.limits.memory_bytes,
            max_scratch_bytes=self.limits.scratch_bytes,
            spawn_filter_required=command.rule.runs_configured_programs,
            # A repository can name any file: by its work tree, its objects, its alternates. What
            # git may read is therefore always up to the kernel.
            confined=self.sandboxed or command.rule.runs_configured_programs,
            network=command.rule.network,
            readable=[*_SYSTEM_PATHS, *_find_program_paths(program), *roots],
            writable=[*_WRITABLE_DEVICES, scratch_dir, *(roots if command.rule.writes else ())],
            pinned={**self.roots.identities, scratch_dir: _identify(scratch_dir)},
            hide_rest=True,
        )

    def _build_environment(self, scratch_dir: str) -> dict[str, str]:
        return {
            "PATH": _SEARCH_PATH,
            "HOME": scratch_dir,
            "TMPDIR": scratch_dir,
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_CEILING_DIRECTORIES": ":".join(str(folder.parent) for folder in self.roots.paths),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            **self.environment,
        }


@contextlib.contextmanager
def _create_scratch_dir() -> Iterator[str]:
    """Yield a temporary directory, which is removed however deep or damaged it is."""
    # Without links: one in it later means that it was replaced. Never resolve the directory itself,
    # which a command may have replaced by then: the target of its link would be removed.
    path = tempfile.mkdtemp(prefix="junto-", dir=os.path.realpath(tempfile.gettempdir()))
    try:
        yield path
    finally:
        try:
            shutil.rmtree(path)
        except (OSError, RecursionError):
            subprocess.run(["rm", "-rf", "--", path], check=False, capture_output=True)  # noqa: S603, S607


def _identify(path: str) -> list[int]:
    try:
        info = os.lstat(path)
    except FileNotFoundError:  # by a command whose root contains it
        raise ExecutionError("The temporary directory of the command was removed.") from None
    return [info.st_dev, info.st_ino]


@lru_cache(maxsize=256)  # resolved once: a command could replace a program in its roots by a link
def _find_program_paths(program: str) -> list[str]:
    """Return the directories a program needs besides the system's: its own, and its venv."""
    real_dir = Path(os.path.realpath(program)).parent
    link_dir = Path(program).parent
    venv_dir = link_dir.parent
    return [
        str(real_dir),
        str(link_dir),
        *([str(venv_dir)] if (venv_dir / "pyvenv.cfg").exists() else []),
    ]


async def _run_process(spec: ProcessSpec, timeout_seconds: float) -> CommandOutput:
    """Run a process under a supervisor that leaves nothing behind, however this ends."""
    report_fd, write_fd = os.pipe()
    try:
        async with run_supervised(replace(spec, report=write_fd)) as process:
            os.close(write_fd)
            write_fd = -1
            outputs = [_Output(stream) for stream in (process.stdout, process.stderr) if stream]
            try:
                async with asyncio.timeout(timeout_seconds):
                    await _wait_for_all(output.read() for output in outputs)
                    await process.wait()
            except TimeoutError:
                partial_stdout = outputs[0].text()
                raise TimeLimitError(
                    f"It took longer than {timeout_seconds:g} s and was stopped. "
                    "timeoutSeconds allows more, up to the operator's limit.",
                    retryable=False,
                    details={"stdout": partial_stdout} if partial_stdout else {},
                ) from None
            # The last line is the supervisor's own, and says more than the exit code before it.
            status = json.loads(os.read(report_fd, 1000).rstrip().split(b"\n")[-1] or b"{}")
    finally:
        os.close(report_fd)
        if write_fd >= 0:
            os.close(write_fd)
    if "exceeded" in status:
        raise ExecutionError(_EXCEEDED_MESSAGES[status["exceeded"]])
    if "code" not in status:
        raise ExecutionError("The command was killed from outside, so its exit code is unknown.")
    return CommandOutput(
        exit_code=status["code"],
        stdout=outputs[0].text(),
        stderr=outputs[1].text(),
        truncated=any(output.truncated for output in outputs),
    )


async def _wait_for_all(coros: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Wait for all coroutines; if one fails, cancel the others."""
    tasks = [asyncio.ensure_future(coro) for coro in coros]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(slots=True)
class _Output:
    """An output stream of a command: the beginning is kept, the rest is only counted."""

    stream: asyncio.StreamReader
    truncated: bool = False
    _chunks: list[bytes] = field(default_factory=list)
    _size: int = 0

    async def read(self) -> None:
        while chunk := await self.stream.read(65536):
            remaining = _MAX_CAPTURED_BYTES - self._size
            if remaining > 0:
                self._chunks.append(chunk[:remaining])
            self._size += len(chunk)
            self.truncated = self.truncated or self._size > _MAX_CAPTURED_BYTES
            if self._size > _MAX_OUTPUT_BYTES:
                raise ExecutionError(
                    f"It wrote more than {_MAX_OUTPUT_BYTES // 1024**2} MiB and was stopped."
                )

    def text(self) -> str:
        return b"".join(self._chunks).decode("utf-8", "replace")
