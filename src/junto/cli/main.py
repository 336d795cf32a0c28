"""A run of the command: what goes wrong in a way that was foreseen becomes a sentence."""

import errno
import os
import sys
from typing import NoReturn

import click

from junto.cli.commands import connecting, knowing, serving, setting, talking
from junto.cli.options import junto, known_secrets
from junto.cli.packages import put_off
from junto.domain.errors import ConfigurationError, JuntoError

# They make themselves known to `junto` when they are imported.
__all__ = ["connecting", "knowing", "run", "serving", "setting", "talking"]


def run() -> NoReturn:
    """Run the command that the arguments name, and turn a foreseen failure into a sentence."""
    put_off()
    try:
        sys.exit(junto(prog_name="junto", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except JuntoError as error:
        click.echo(f"junto: {_presentable(error.message)}", err=True)
        sys.exit(2 if isinstance(error, ConfigurationError) else 1)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EPIPE):
            raise
        # Standard output is full, or nobody reads it any more, as in `junto config show | head`.
        if error.errno == errno.ENOSPC:
            click.echo(f"junto: {error.strerror}", err=True)
        os._exit(1)  # leaving in the ordinary way would write what is left, and fail again


def _presentable(message: str) -> str:
    """Return a message without secrets, and without what would move the cursor."""
    from junto.cli.terminal import harmless
    from junto.security.secrets import Redactor

    return harmless(Redactor(known_secrets).text(message))
