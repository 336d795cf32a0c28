"""The tools `current_time`, `get_env` and `execute_command`."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field
from typing_extensions import override

from junto.local_tools.commands import CommandLimits, CommandRunner
from junto.local_tools.system_info import Environment, get_current_time
from junto.security.commands import SAFE_COMMANDS, CommandPolicy, CommandRule
from junto.security.paths import Roots
from junto.settings.enums import ToolAccess
from junto.settings.list_entries import CommandEntry
from junto.settings.schema import ToolsSettings
from junto.tools.base import Arguments, Result
from junto.tools.services import ToolServices
from junto.tools.tool import READ_ONLY_HINTS, CallContext, Group, Hints, Tool

_DESTRUCTIVE_HINTS = Hints(read_only=False, destructive=True, idempotent=False, open_world=True)


def build_tools(services: ToolServices) -> Iterator[Tool[Any]]:
    """Yield the tools of this module."""
    settings, environment = services.settings.tools, services.environment
    yield build_current_time_tool(settings.timezone)
    yield build_get_env_tool(
        Environment(environment, services.redactor, only_harmless=services.over_http)
    )
    yield build_execute_command_tool(_build_runner(settings, services.roots, environment))


class CurrentTimeArguments(Arguments):
    """Arguments of `current_time`."""

    timezone: str | None = Field(None, description="IANA name, such as Asia/Taipei.")


class CurrentTimeResult(Result):
    """Result of `current_time`."""

    iso8601: str
    timestamp: int
    timezone: str

    @override
    def text(self) -> str:
        """Return the time, its timezone and its timestamp."""
        return f"{self.iso8601} ({self.timezone}, timestamp {self.timestamp})"


def build_current_time_tool(default_timezone: str) -> Tool[CurrentTimeArguments]:
    """Build the `current_time` tool; `default_timezone` applies if the call names none."""

    async def run(arguments: CurrentTimeArguments, _call: CallContext) -> CurrentTimeResult:
        timezone = arguments.timezone or default_timezone
        now = get_current_time(timezone)
        return CurrentTimeResult(
            iso8601=now.isoformat(), timestamp=int(now.timestamp()), timezone=timezone
        )

    return Tool(
        name="current_time",
        title="Current time",
        description=f"Get the current date and time. Default timezone: {default_timezone}.",
        group=Group.KIT,
        arguments=CurrentTimeArguments,
        result=CurrentTimeResult,
        run=run,
        hints=READ_ONLY_HINTS,
        instructions="current_time tells the time in any zone.",
    )


class GetEnvArguments(Arguments):
    """Arguments of `get_env`."""

    key: str = Field(min_length=1, max_length=1000, description="Name of the variable.")


class GetEnvResult(Result):
    """Result of `get_env`."""

    key: str
    is_set: bool
    value: str | None = None

    @override
    def text(self) -> str:
        """Return the value, or why it is not shown."""
        if not self.is_set:
            return f"{self.key} is not set."
        if self.value is None:
            return f"{self.key} is set. Its value is not shown, because it may be a secret."
        return f"{self.key}={self.value}"


def build_get_env_tool(environment: Environment) -> Tool[GetEnvArguments]:
    """Build the `get_env` tool."""

    async def run(arguments: GetEnvArguments, _call: CallContext) -> GetEnvResult:
        variable = environment.get(arguments.key)
        return GetEnvResult(key=variable.key, is_set=variable.is_set, value=variable.value)

    return Tool(
        name="get_env",
        title="Environment variable",
        description=(
            "Read an environment variable of the server. Of a secret, only whether it is set."
        ),
        group=Group.KIT,
        arguments=GetEnvArguments,
        result=GetEnvResult,
        run=run,
        hints=READ_ONLY_HINTS,
        instructions=(
            "get_env reads an environment variable of the server; secrets are not shown."
        ),
    )


class ExecuteCommandArguments(Arguments):
    """Arguments of `execute_command`."""

    command: str = Field(max_length=200, description="Name of the program.")
    args: list[str] = Field(default_factory=list, description="Arguments. No shell expands them.")
    cwd: str | None = Field(None, description="Working directory, in an allowed folder.")
    timeout_seconds: float | None = Field(None, gt=0, description="Time limit.")


class ExecuteCommandResult(Result):
    """Result of `execute_command`."""

    text_fields = frozenset({"stdout", "stderr"})

    exit_code: int
    stdout: str
    stderr: str
    truncated: bool

    @override
    def text(self) -> str:
        """Return the output, then the exit code."""
        output, errors = self.stdout.rstrip("\n"), self.stderr.rstrip("\n")
        footer = f"[exit code {self.exit_code}{', output cut' if self.truncated else ''}]"
        errors = f"[stderr]\n{errors}" if errors else ""
        return "\n".join(filter(None, [output, errors, footer]))


def build_execute_command_tool(runner: CommandRunner) -> Tool[ExecuteCommandArguments]:
    """Build the `execute_command` tool."""

    async def run(arguments: ExecuteCommandArguments, call: CallContext) -> ExecuteCommandResult:
        call.job_handle.set_status(f"running {arguments.command}")
        output = await runner.run(
            arguments.command, arguments.args, arguments.cwd, arguments.timeout_seconds
        )
        return ExecuteCommandResult(
            exit_code=output.exit_code,
            stdout=output.stdout,
            stderr=output.stderr,
            truncated=output.truncated,
        )

    allowed = ", ".join(sorted(runner.commands.rules))
    return Tool(
        name="execute_command",
        title="Execute command",
        description=(
            "Run a program in the allowed folders, without a shell, and return its output and exit "
            f"code. Allowed: {allowed}."
        ),
        group=Group.KIT,
        arguments=ExecuteCommandArguments,
        result=ExecuteCommandResult,
        run=run,
        hints=_DESTRUCTIVE_HINTS,
        access=ToolAccess.ALL,
        is_long_running=True,
    )


def _build_runner(
    settings: ToolsSettings, roots: Roots, environment: Mapping[str, str]
) -> CommandRunner:
    return CommandRunner(
        roots=roots,
        commands=CommandPolicy(
            {
                **SAFE_COMMANDS,
                **{entry.name: _build_rule(entry) for entry in settings.commands},
            }
        ),
        limits=CommandLimits(
            timeout_seconds=settings.command_seconds,
            cpu_seconds=int(settings.command_seconds) + 1,
            memory_bytes=settings.command_memory,
            processes=settings.command_processes,
            scratch_bytes=settings.command_scratch,
        ),
        sandboxed=settings.confine,
        environment={
            name: environment[name] for name in settings.command_environment if name in environment
        },
    )


def _build_rule(entry: CommandEntry) -> CommandRule:
    inner = CommandRule(flags=frozenset(entry.flags), positionals=entry.words)
    return CommandRule(
        flags=inner.flags,
        positionals=inner.positionals,
        subcommands=dict.fromkeys(entry.subcommands, inner),
        unchecked=entry.anything,
        program=str(entry.program) if entry.program else None,
        network=entry.network,
        writes=entry.writes,
        spawns=True,
    )
