"""The tool `execute_command`."""

from pydantic import Field
from typing_extensions import override

from junto.kit.commands import Runner
from junto.tools.tool import Arguments, Call, Group, Hints, Result, Tool

_DANGEROUS = Hints(read_only=False, destructive=True, idempotent=False, open_world=True)


class CommandArguments(Arguments):
    """Arguments of `execute_command`."""

    command: str = Field(max_length=200, description="A program's name; there is no shell.")
    args: list[str] = Field(default_factory=list)
    cwd: str | None = None
    timeout_seconds: float | None = Field(None, gt=0)


class CommandResult(Result):
    """Result of `execute_command`."""

    exit_code: int
    stdout: str
    stderr: str
    truncated: bool

    @override
    def text(self) -> str:
        """Return what was written, and how it ended."""
        end = f"[exit code {self.exit_code}{', output cut' if self.truncated else ''}]"
        return "\n".join(filter(None, [self.stdout.rstrip("\n"), self.stderr.rstrip("\n"), end]))


def execute_command(runner: Runner) -> Tool[CommandArguments]:
    """Return the tool that runs a command."""

    async def run(arguments: CommandArguments, call: Call) -> CommandResult:
        call.work.notes(f"running {arguments.command}")
        ran = await runner.run(
            arguments.command, arguments.args, arguments.cwd, arguments.timeout_seconds
        )
        return CommandResult(
            exit_code=ran.exit_code,
            stdout=ran.stdout,
            stderr=ran.stderr,
            truncated=ran.truncated,
        )

    allowed = ", ".join(sorted(runner.commands.rules))
    return Tool(
        name="execute_command",
        title="Execute command",
        description=f"Run one of: {allowed}.",
        group=Group.KIT,
        arguments=CommandArguments,
        result=CommandResult,
        run=run,
        hints=_DANGEROUS,
        long=True,
    )
