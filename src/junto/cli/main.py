"""A run of the command: what goes wrong in a way that was foreseen becomes a sentence."""

import errno
import os
import sys
from typing import NoReturn

import click

from junto.cli.commands import connecting, helping, knowing, serving, setting, talking, telling
from junto.cli.mistakes import told
from junto.cli.options import junto, known_secrets
from junto.cli.packages import put_off
from junto.cli.writing import harmless, say
from junto.domain.errors import ConfigurationError, JuntoError

# They make themselves known to `junto` when they are imported.
__all__ = ["connecting", "helping", "knowing", "run", "serving", "setting", "talking", "telling"]

# What a message tells a client to call, as somebody at a terminal does it.
_SAME_HERE = {"list_models": "junto models", "list_conversations": "junto conversations list"}


def run() -> NoReturn:
    """Run the command that the arguments name, and turn a foreseen failure into a sentence."""
    put_off()
    if "_JUNTO_COMPLETE" in os.environ:
        from junto.cli.completing import answer

        answer(junto)
    try:
        sys.exit(junto(prog_name="junto", standalone_mode=False, color=_colour()) or 0)
    except click.ClickException as error:
        say(told(error))
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except JuntoError as error:
        say(f"junto: {_presentable(error.message)}")
        sys.exit(2 if isinstance(error, ConfigurationError) else 1)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EPIPE):
            raise
        # Standard output is full, or nobody reads it any more, as in `junto config show | head`.
        if error.errno == errno.ENOSPC:
            say(f"junto: {error.strerror}")
        os._exit(1)  # leaving in the ordinary way would write what is left, and fail again


def _colour() -> bool | None:
    """Return False where somebody wants none (https://no-color.org), or the terminal has none."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


def _presentable(message: str) -> str:
    """Return a message for the terminal: without secrets, and with its own commands."""
    from junto.security.secrets import Redactor

    for tool, command in _SAME_HERE.items():
        message = message.replace(f"`{tool}`", f"`{command}`")
    return harmless(Redactor(known_secrets).text(message))
