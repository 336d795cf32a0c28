"""Where runs are done: a folder and a process, both with little of ours, and gone at the end."""

import asyncio
import contextlib
import importlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from junto.agent import program
from junto.agent.folders import Folder
from junto.agent.options import Options
from junto.agent.pipe import LONGEST_LINE, Pipe
from junto.agent.program import Access, Call
from junto.agent.sight import visible
from junto.agent.transcripts import Mirror, lay_out
from junto.domain.errors import ExecutionError
from junto.domain.sessions import Line, Session, SessionStore
from junto.security.paths import Roots
from junto.work.processes import Task, kept
from junto.work.tasks import Stopped, surely, unless

# What every program writes to, and which is nobody's.
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/shm")  # noqa: S108 - nothing of ours
# The program may take so long to end by itself: it ends its own children first.
_GRACE = 1.0
_START_SECONDS = 60.0
_PARTING_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Consulting:
    """Our own tools, which the program may use: their names, and a server that has them."""

    tools: tuple[str, ...]
    server: Callable[[], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What the program is started for."""

    options: Options
    session: Session
    # The session that it goes on with or branches off from, and what was said there.
    resumed: str | None = None
    lines: Sequence[Line] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """Starts the program, and ends it with all that it started."""

    program: str
    roots: Roots
    # Asked at each start, since a login changes.
    access: Callable[[], Access]
    # Where runs have their folders, and what of the disk none of them may see.
    base: Path
    hidden: tuple[Path, ...] = ()
    store: SessionStore
    clean: Callable[[str], str]
    environment: Mapping[str, str]
    user: str | None = None
    confined: bool = True
    # Folders that it may write to besides the roots.
    writable: tuple[str, ...] = ()
    consulting: Consulting | None = None
    # Starting takes a core for most of a second.
    starting: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))

    def folder(self, cwd: str) -> str:
        """Return the real name of a folder to work in.

        Raises:
            JuntoError: it is not beneath the roots, or not there.
        """
        with self.roots.opened(cwd, os.O_RDONLY | os.O_DIRECTORY) as fd:
            link = Path(f"/proc/self/fd/{fd}")
            return str(link.readlink()) if link.is_symlink() else os.path.realpath(cwd)

    @contextlib.asynccontextmanager
    async def started(
        self,
        errand: Errand,
        heard: Callable[[dict[str, Any]], None],
        decider: Callable[[Any], Any],
        stop: asyncio.Event,
    ) -> AsyncIterator[tuple[Any, Pipe]]:
        """Lend a client of the program, which ends with the block.

        Raises:
            Stopped: somebody wanted it to end before it had begun.
            ExecutionError: it did not start.
            OSError: the machine has no room for it.
        """
        # Its first import takes a second, in which others are served.
        sdk = await asyncio.to_thread(importlib.import_module, "claude_agent_sdk")
        # What it would log is told to whoever gave the order.
        logging.getLogger("claude_agent_sdk").setLevel(logging.CRITICAL)
        async with contextlib.AsyncExitStack() as stack:
            async with self._turn(stop):
                scratch = await stack.enter_async_context(self._scratch())
                await asyncio.to_thread(self._lay_out, scratch, errand, sdk)
                process = await stack.enter_async_context(self._process(scratch, errand))
                pipe = Pipe(process, heard)
                options = self._sdk_options(sdk, scratch, errand, decider(sdk))
                client = sdk.ClaudeSDKClient(options, transport=pipe)
                stack.push_async_callback(_parted, client)
                try:
                    async with asyncio.timeout(_START_SECONDS):
                        await unless(stop, client.connect())
                except Stopped:
                    raise
                except Exception as error:  # noqa: BLE001 - whatever it is, it is told
                    said = self.clean(pipe.complaints or str(error) or "it said nothing")
                    raise ExecutionError(f"Claude Code did not start: {said}") from None
            yield client, pipe

    @contextlib.asynccontextmanager
    async def _turn(self, stop: asyncio.Event) -> AsyncIterator[None]:
        await unless(stop, self.starting.acquire())
        try:
            yield
        finally:
            self.starting.release()

    @contextlib.asynccontextmanager
    async def _scratch(self) -> AsyncIterator[Path]:
        folder = await asyncio.to_thread(Folder.made, self.base, passable=self.user is not None)
        try:
            yield folder.path
        finally:
            await surely(asyncio.to_thread(folder.remove))

    def _lay_out(self, scratch: Path, errand: Errand, sdk: Any) -> None:
        """Put what the program needs into its folder."""
        if errand.resumed:
            project = (
                scratch / "config" / "projects" / sdk.project_key_for_directory(errand.session.cwd)
            )
            lay_out(errand.lines, errand.resumed, project)
        if errand.options.append_system_prompt:
            _instructions(scratch).write_text(errand.options.append_system_prompt, encoding="utf-8")
        if user := program.user_named(self.user):
            for path in (scratch, *scratch.rglob("*")):
                os.chown(path, user.pw_uid, user.pw_gid)

    @contextlib.asynccontextmanager
    async def _process(
        self, scratch: Path, errand: Errand
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        user, access = program.user_named(self.user), self.access()
        homes = program.homes(self.environment, user)
        readable = await asyncio.to_thread(visible, homes, (self.base, *self.hidden))
        roots = [str(root) for root in self.roots.folders]
        call = Call(
            options=errand.options,
            roots=roots,
            session=errand.session.id,
            resumed=errand.resumed,
            instructions=_instructions(scratch) if errand.options.append_system_prompt else None,
            consulting=self.consulting.tools if self.consulting else (),
        )
        with (
            self.roots.opened(errand.session.cwd, os.O_RDONLY | os.O_DIRECTORY) as directory,
            _readable(access.secret) as secret,
        ):
            task = Task(
                command=[self.program, *call.arguments()],
                directory=directory,
                environment=program.environment(self.environment, access, scratch, user),
                secret=secret,
                user=program.becoming(user) if user else None,
                grace=_GRACE,
                scratch=str(scratch),
                confined=self.confined,
                readable=readable,
                writable=[*roots, str(scratch), *_DEVICES, *self.writable],
            )
            async with kept(task, spoken_to=True, longest_line=LONGEST_LINE) as process:
                yield process

    def _sdk_options(self, sdk: Any, scratch: Path, errand: Errand, decide: Any) -> Any:
        """Return what the SDK must know; what the program must is in its arguments."""
        servers = {}
        if self.consulting:
            server = self.consulting.server()
            servers["junto"] = {"type": "sdk", "name": "junto", "instance": server}
        return sdk.ClaudeAgentOptions(
            cwd=errand.session.cwd,
            can_use_tool=decide,
            mcp_servers=servers,
            verbatim_prompts=True,
            session_store=Mirror(self.store),
            session_store_flush="eager",
            env={"CLAUDE_CONFIG_DIR": str(scratch / "config")},
        )


async def _parted(client: Any) -> None:
    """Let the SDK write down what it has; not for long, since nothing must keep a run alive."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_PARTING_SECONDS):
            await client.disconnect()


def _instructions(scratch: Path) -> Path:
    return scratch / "instructions"


@contextlib.contextmanager
def _readable(secret: str | None) -> Iterator[int]:
    """Yield a descriptor from which the secret can be read, once."""
    if secret is None:
        yield -1
        return
    read, write = os.pipe()
    os.write(write, secret.encode())
    os.close(write)
    try:
        yield read
    finally:
        os.close(read)
