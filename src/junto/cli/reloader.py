"""`junto serve --reload`: a server for developers, begun anew whenever its files change."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import click

import junto
from junto.domain.errors import ConfigurationError


def serve(files: Iterable[Path]) -> None:
    """Serve in a child process, and begin it anew when the sources or `files` change.

    Raises:
        ConfigurationError: what watches files is not installed.
    """
    try:
        from watchfiles import PythonFilter, watch  # of an extra
    except ImportError:
        raise ConfigurationError(
            "--reload needs watchfiles: pip install 'junto[documents]'."
        ) from None
    source = Path(junto.__file__).parent
    wanted = PythonFilter(extra_extensions=(".yaml", ".yml"))
    # Ended like this as by Ctrl-C, and with the child.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    child = _begun()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                # Anew each time: an editor that replaces a file takes what was watched away.
                paths = [source, *(path for path in files if path.exists())]
                changes = next(watch(*paths, watch_filter=wanted))
                names = ", ".join(sorted({Path(name).name for _, name in changes}))
                click.echo(f"Changed: {names}. Junto begins anew.", err=True)
                _ended(child)
                child = _begun()
    finally:
        _ended(child)


def _begun() -> "subprocess.Popen[bytes]":
    words = [word for word in sys.argv[1:] if word != "--reload"]
    return subprocess.Popen([sys.executable, "-P", "-m", "junto", *words])  # noqa: S603 - ourselves


def _ended(child: "subprocess.Popen[bytes]") -> None:
    """Let the server end in its own time, unless it has ended already."""
    child.send_signal(signal.SIGTERM)
    child.wait()
