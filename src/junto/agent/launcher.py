"""Launches the Claude Code CLI in a scratch directory and a sandbox, and cleans up after it."""

import asyncio
import contextlib
import importlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from junto.agent import claude_cli
from junto.agent.claude_cli import ClaudeCommand, ClaudeCredentials
from junto.agent.filesystem import ScratchDir, list_visible_paths
from junto.agent.options import RunOptions
from junto.agent.sdk_adapters import (
    MAX_LINE_BYTES,
    MirrorSessionStore,
    SdkTransport,
    write_transcript,
)
from junto.domain.errors import ExecutionError
from junto.domain.sessions import Session, SessionStore, TranscriptLine
from junto.runtime.processes import ProcessSpec, run_supervised
from junto.runtime.tasks import Stopped, run_shielded, run_until
from junto.security.paths import Roots

# Devices that any program may write to.
_WRITABLE_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/shm")  # noqa: S108 - devices
# Time for the CLI to exit by itself: it ends its own children first.
_EXIT_GRACE_SECONDS = 1.0
_START_TIMEOUT_SECONDS = 60.0
_DISCONNECT_TIMEOUT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class ExposedTools:
    """The Junto tools that the CLI may call, and the MCP server that provides them."""

    tool_names: tuple[str, ...]
    server: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """The options and session of one run."""

    options: RunOptions
    session: Session
    # The session to resume or fork, and its transcript.
    resume_session_id: str | None = None
    transcript: Sequence[TranscriptLine] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """Starts the CLI, and ends it with all its child processes."""

    program_path: str
    roots: Roots
    # Called at each start, since a login can change.
    get_credentials: Callable[[], ClaudeCredentials]
    # Parent of the scratch directories.
    base_dir: Path
    # Paths that no run may see.
    hidden_paths: tuple[Path, ...] = ()
    store: SessionStore
    redact: Callable[[str], str]
    environment: Mapping[str, str]
    user: str | None = None
    sandboxed: bool = True
    # Directories that the CLI may write to besides the roots.
    writable_paths: tuple[str, ...] = ()
    build_exposed_tools: Callable[[], ExposedTools] | None = None
    # Limits concurrent starts: each one occupies a core for most of a second.
    start_semaphore: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))

    def resolve_cwd(self, cwd: str) -> str:
        """Return the real path of a working directory.

        Raises:
            JuntoError: the directory is outside the roots or does not exist.
        """
        with self.roots.open(cwd, os.O_RDONLY | os.O_DIRECTORY) as fd:
            link = Path(f"/proc/self/fd/{fd}")
            return str(link.readlink()) if link.is_symlink() else os.path.realpath(cwd)

    @contextlib.asynccontextmanager
    async def launch(
        self,
        spec: RunSpec,
        on_message: Callable[[dict[str, Any]], None],
        build_can_use_tool: Callable[[Any], Any],
        stop: asyncio.Event,
    ) -> AsyncIterator[tuple[Any, SdkTransport]]:
        """Start the CLI for the block, and yield its connected SDK client and transport.

        Raises:
            Stopped: `stop` was set before the client was connected.
            ExecutionError: the CLI did not start.
            OSError: the process could not be created.
        """
        # The first import takes a second and would block the event loop.
        sdk = await asyncio.to_thread(importlib.import_module, "claude_agent_sdk")
        # Errors that the SDK would log are reported to the caller instead.
        logging.getLogger("claude_agent_sdk").setLevel(logging.CRITICAL)
        async with contextlib.AsyncExitStack() as stack:
            async with self._acquire_start_slot(stop):
                exposed_tools = self.build_exposed_tools() if self.build_exposed_tools else None
                scratch_dir = await stack.enter_async_context(self._open_scratch_dir())
                await asyncio.to_thread(self._prepare_scratch_dir, scratch_dir, spec, sdk)
                process = await stack.enter_async_context(
                    self._spawn_process(scratch_dir, spec, exposed_tools)
                )
                transport = SdkTransport(process, on_message)
                options = self._build_sdk_options(
                    sdk, scratch_dir, spec, build_can_use_tool(sdk), exposed_tools
                )
                client = sdk.ClaudeSDKClient(options, transport=transport)
                stack.push_async_callback(_disconnect, client)
                try:
                    async with asyncio.timeout(_START_TIMEOUT_SECONDS):
                        await run_until(stop, client.connect())
                except Stopped:
                    raise
                except Exception as error:  # noqa: BLE001 - any failure is reported to the caller
                    reason = self.redact(transport.stderr_tail or str(error) or "it said nothing")
                    raise ExecutionError(f"Claude Code did not start: {reason}") from None
            yield client, transport

    @contextlib.asynccontextmanager
    async def _acquire_start_slot(self, stop: asyncio.Event) -> AsyncIterator[None]:
        await run_until(stop, self.start_semaphore.acquire())
        try:
            yield
        finally:
            self.start_semaphore.release()

    @contextlib.asynccontextmanager
    async def _open_scratch_dir(self) -> AsyncIterator[Path]:
        scratch = await asyncio.to_thread(
            ScratchDir.create, self.base_dir, traversable=self.user is not None
        )
        try:
            yield scratch.path
        finally:
            await run_shielded(asyncio.to_thread(scratch.remove))

    def _prepare_scratch_dir(self, scratch_dir: Path, spec: RunSpec, sdk: Any) -> None:
        """Write the transcript and the instructions, and hand the directory to the CLI's user."""
        if spec.resume_session_id:
            project_dir = (
                scratch_dir
                / "config"
                / "projects"
                / sdk.project_key_for_directory(spec.session.cwd)
            )
            write_transcript(spec.transcript, spec.resume_session_id, project_dir)
        if spec.options.append_system_prompt:
            _instructions_path(scratch_dir).write_text(
                spec.options.append_system_prompt, encoding="utf-8"
            )
        if user := claude_cli.find_user(self.user):
            for path in (scratch_dir, *scratch_dir.rglob("*")):
                os.chown(path, user.pw_uid, user.pw_gid)

    @contextlib.asynccontextmanager
    async def _spawn_process(
        self, scratch_dir: Path, spec: RunSpec, exposed_tools: ExposedTools | None
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        user, credentials = claude_cli.find_user(self.user), self.get_credentials()
        home_dirs = claude_cli.list_home_dirs(self.environment, user)
        readable = await asyncio.to_thread(
            list_visible_paths, home_dirs, (self.base_dir, *self.hidden_paths)
        )
        roots = [str(root) for root in self.roots.paths]
        command = ClaudeCommand(
            options=spec.options,
            roots=roots,
            session_id=spec.session.id,
            resume_session_id=spec.resume_session_id,
            instructions_path=_instructions_path(scratch_dir)
            if spec.options.append_system_prompt
            else None,
            exposed_tool_names=exposed_tools.tool_names if exposed_tools else (),
        )
        with (
            self.roots.open(spec.session.cwd, os.O_RDONLY | os.O_DIRECTORY) as cwd_fd,
            _open_secret_fd(credentials.secret) as secret_fd,
        ):
            process_spec = ProcessSpec(
                command=[self.program_path, *command.build_arguments()],
                directory=cwd_fd,
                environment=claude_cli.build_environment(
                    self.environment, credentials, scratch_dir, user
                ),
                secret=secret_fd,
                user=claude_cli.to_process_user(user) if user else None,
                grace=_EXIT_GRACE_SECONDS,
                scratch=str(scratch_dir),
                confined=self.sandboxed,
                readable=readable,
                writable=[*roots, str(scratch_dir), *_WRITABLE_DEVICES, *self.writable_paths],
                pinned=self.roots.identities,
            )
            async with run_supervised(
                process_spec, pipe_stdin=True, max_line_bytes=MAX_LINE_BYTES
            ) as process:
                yield process

    def _build_sdk_options(
        self,
        sdk: Any,
        scratch_dir: Path,
        spec: RunSpec,
        can_use_tool: Any,
        exposed_tools: ExposedTools | None,
    ) -> Any:
        """Return the SDK's own options; those of the CLI are command line arguments."""
        servers = {}
        if exposed_tools:
            server = exposed_tools.server
            servers["junto"] = {"type": "sdk", "name": "junto", "instance": server}
        return sdk.ClaudeAgentOptions(
            cwd=spec.session.cwd,
            can_use_tool=can_use_tool,
            mcp_servers=servers,
            verbatim_prompts=True,
            session_store=MirrorSessionStore(self.store),
            session_store_flush="eager",
            env={"CLAUDE_CONFIG_DIR": str(scratch_dir / "config")},
        )


async def _disconnect(client: Any) -> None:
    """Let the SDK flush its messages, with a timeout so that it cannot keep a run alive."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_DISCONNECT_TIMEOUT_SECONDS):
            await client.disconnect()


def _instructions_path(scratch_dir: Path) -> Path:
    return scratch_dir / "instructions"


@contextlib.contextmanager
def _open_secret_fd(secret: str | None) -> Iterator[int]:
    """Yield a descriptor from which the secret can be read once, or -1 without a secret."""
    if secret is None:
        yield -1
        return
    read_fd, write_fd = os.pipe()
    os.write(write_fd, secret.encode())
    os.close(write_fd)
    try:
        yield read_fd
    finally:
        os.close(read_fd)
