"""Command dispatch: run a command and turn expected errors into messages and exit codes."""

import errno
import os
import sys
from typing import NoReturn

import click
from click.exceptions import NoArgsIsHelpError

from junto.cli.commands import chat, config, conversations, install, knowledge, server
from junto.cli.commands import help as help_
from junto.cli.options import junto, known_secrets
from junto.cli.startup import make_lazy
from junto.cli.terminal_text import print_stderr, sanitize
from junto.domain.errors import ConfigurationError, JuntoError

# Importing these modules registers their commands with `junto`.
__all__ = ["chat", "config", "conversations", "help_", "install", "knowledge", "run", "server"]

# MCP tools mentioned in error messages, and the equivalent commands.
_CLI_EQUIVALENTS = {"list_models": "junto models", "list_conversations": "junto conversations list"}


def run() -> NoReturn:
    """Run the command given by the process arguments, and exit with its status."""
    make_lazy()
    if "_JUNTO_COMPLETE" in os.environ:
        from junto.cli.completion import run_completion

        run_completion(junto)
    try:
        sys.exit(junto(prog_name="junto", standalone_mode=False, color=_detect_color()) or 0)
    except click.ClickException as error:
        print_stderr(_format_click_error(error))
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except JuntoError as error:
        print_stderr(f"junto: {_format_error_message(error.message)}")
        sys.exit(2 if isinstance(error, ConfigurationError) else 1)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EPIPE):
            raise
        # Standard output is full, or its reader has closed the pipe: `junto config show | head`.
        if error.errno == errno.ENOSPC:
            print_stderr(f"junto: {error.strerror}")
        os._exit(1)  # a normal exit would flush standard output and fail again


def _detect_color() -> bool | None:
    """Return False if NO_COLOR is set (https://no-color.org) or the terminal has no colors."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


def _format_error_message(message: str) -> str:
    """Redact secrets and replace names of MCP tools with commands."""
    from junto.security.redaction import Redactor

    for tool, command in _CLI_EQUIVALENTS.items():
        message = message.replace(f"`{tool}`", f"`{command}`")
    return sanitize(Redactor(known_secrets).redact_text(message))


def _format_click_error(error: click.ClickException) -> str:
    """Return the message for a usage error, with a pointer to the help."""
    if isinstance(error, NoArgsIsHelpError):
        return error.format_message()
    lines = [f"junto: {error.format_message()}"]
    if isinstance(error, click.UsageError) and error.ctx:
        hint = "lists the commands" if isinstance(error.ctx.command, click.Group) else "tells more"
        lines.append(f"`{error.ctx.command_path} --help` {hint}.")
    return "\n".join(lines)
