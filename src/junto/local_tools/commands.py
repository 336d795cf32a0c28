"""Running commands: no shell, a clean environment, limits, and nothing left of them afterwards."""

import asyncio
import json
import os
import re
import shutil
import tempfile
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from junto.domain.errors import ExecutionError, NotFoundError, SecurityError, TimeLimitError
from junto.security.commands import Allowed, Commands
from junto.security.paths import Roots
from junto.work.processes import Task, kept

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin"
# What every program may look at; nothing of anybody's is in there.
_SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
    "/etc/alternatives", "/etc/magic", "/etc/ssl/certs", "/dev/urandom", "/dev/random",
    "/dev/zero", "/nix/store",
)  # fmt: skip
_HARMLESS = ("/dev/null",)
_CONFIG_SECONDS = 10.0
# What a repository may set so that git runs a program, and no option of ours takes back.
_RUNS = re.compile(
    r"filter\..*\.(?:clean|smudge|process)|remote\..*\.(?:promisor|vcs)|extensions\.partialclone"
    r"|core\.(?:alternaterefscommand|gitproxy)|uploadpack\..*|submodule\..*\.update"
)
# What is kept of the output, and how much a command may write before it is stopped.
_KEPT, _MOST_OUTPUT = 200_000, 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of the machine a command may take."""

    seconds: float = 30.0
    cpu_seconds: int = 60
    memory_bytes: int = 2 * 1024**3
    file_bytes: int = 100 * 1024**2
    files: int = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What came of a command."""

    exit_code: int
    stdout: str
    stderr: str
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Runs what the rules allow, beneath the allowed folders."""

    roots: Roots
    commands: Commands
    limits: Limits = Limits()
    # Whether the kernel holds them to the allowed folders, where it can.
    confined: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)

    async def run(
        self, name: str, arguments: Sequence[str], cwd: str | None, seconds: float | None
    ) -> Ran:
        """Run a command and wait for its end.

        Raises:
            SecurityError: it is not allowed, or an argument is not.
            TimeLimitError: it took too long; nothing of it is left.
            ExecutionError: it could not be started, or wrote too much.
        """
        folder = cwd or "."
        with self.roots.opened(folder, os.O_RDONLY | os.O_DIRECTORY) as directory:
            allowed = self.commands.check(
                name, arguments, lambda word: self.roots.holds(word, around=folder)
            )
            patience = min(seconds or self.limits.seconds, self.limits.seconds)
            with tempfile.TemporaryDirectory(prefix="junto-") as scratch:
                if allowed.rule.repository:
                    await self._check_repository(allowed, directory, scratch)
                return await _ran(self._task(allowed, directory, scratch), patience)

    async def _check_repository(self, allowed: Allowed, directory: int, scratch: str) -> None:
        """Refuse a repository that names programs which git would run, whatever it is told."""
        names = replace(allowed, arguments=("config", "--list", "--name-only"))
        listed = await _ran(self._task(names, directory, scratch), _CONFIG_SECONDS)
        named = next(filter(_RUNS.fullmatch, listed.stdout.lower().splitlines()), None)
        if named or listed.truncated:
            raise SecurityError(
                f"This repository's own configuration can make git run programs ({named}), so git "
                "is not run in it."
            )

    def _task(self, allowed: Allowed, directory: int, scratch: str) -> Task:
        program = allowed.rule.program or shutil.which(allowed.name, path=_PATH)
        if program is None:
            raise NotFoundError(f"{allowed.name} is not installed on this machine.")
        roots = [str(folder) for folder in self.roots.folders]
        return Task(
            command=[program, *allowed.arguments],
            directory=directory,
            environment=self._environment(scratch),
            scratch=scratch,
            limits={
                "RLIMIT_CPU": self.limits.cpu_seconds,
                "RLIMIT_AS": self.limits.memory_bytes,
                "RLIMIT_FSIZE": self.limits.file_bytes,
                "RLIMIT_NOFILE": self.limits.files,
                "RLIMIT_CORE": 0,
            },
            confined=self.confined,
            network=allowed.rule.network,
            readable=[*_SYSTEM, *_around(program), *roots],
            writable=[*_HARMLESS, scratch, *(roots if allowed.rule.writes else ())],
        )

    def _environment(self, scratch: str) -> dict[str, str]:
        return {
            "PATH": _PATH,
            "HOME": scratch,
            "TMPDIR": scratch,
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_CEILING_DIRECTORIES": ":".join(
                str(folder.parent) for folder in self.roots.folders
            ),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            **self.environment,
        }


def _around(program: str) -> list[str]:
    """Return what a program outside the system's folders needs to see: its own, or its venv's."""
    folder = Path(os.path.realpath(program)).parent
    links = Path(program).parent
    venv = links.parent
    return [str(folder), str(links), *([str(venv)] if (venv / "pyvenv.cfg").exists() else [])]


async def _ran(task: Task, seconds: float) -> Ran:
    """Run a task with its keeper, which leaves nothing behind however this ends."""
    report, told = os.pipe()
    try:
        async with kept(replace(task, report=told)) as process:
            os.close(told)
            told = -1
            outputs = [_Output(stream) for stream in (process.stdout, process.stderr) if stream]
            try:
                async with asyncio.timeout(seconds):
                    await _all(output.read() for output in outputs)
                    await process.wait()
            except TimeoutError:
                so_far = outputs[0].text()
                raise TimeLimitError(
                    f"It took longer than {seconds:g} s and was stopped. timeoutSeconds allows "
                    "more, up to the operator's limit.",
                    retryable=False,
                    facts={"stdout": so_far} if so_far else {},
                ) from None
            status = json.loads(os.read(report, 1000) or b"{}")
    finally:
        os.close(report)
        if told >= 0:
            os.close(told)
    if "code" not in status:
        raise ExecutionError("The command ended in a way that nobody could see.")
    return Ran(
        exit_code=status["code"],
        stdout=outputs[0].text(),
        stderr=outputs[1].text(),
        truncated=any(output.cut for output in outputs),
    )


async def _all(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Wait for all, and leave none running if one of them fails."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(slots=True)
class _Output:
    """What a command writes: the beginning is kept, the rest is only counted."""

    stream: asyncio.StreamReader
    cut: bool = False
    _pieces: list[bytes] = field(default_factory=list)
    _size: int = 0

    async def read(self) -> None:
        while piece := await self.stream.read(65536):
            room = _KEPT - self._size
            if room > 0:
                self._pieces.append(piece[:room])
            self._size += len(piece)
            self.cut = self.cut or self._size > _KEPT
            if self._size > _MOST_OUTPUT:
                raise ExecutionError(
                    f"It wrote more than {_MOST_OUTPUT // 1024**2} MiB and was stopped."
                )

    def text(self) -> str:
        return b"".join(self._pieces).decode("utf-8", "replace")
