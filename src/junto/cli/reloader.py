"""`junto serve --reload`: a development server that restarts when its files change."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from junto import version
from junto.domain.errors import ConfigurationError


def serve(config_files: Iterable[Path]) -> None:
    """Serve in a child process, and restart it when the sources or `config_files` change.

    Raises:
        ConfigurationError: watchfiles is not installed.
    """
    try:
        from watchfiles import PythonFilter, watch  # from the `documents` extra
    except ImportError:
        raise ConfigurationError(
            "--reload needs watchfiles: pip install 'junto[documents]'."
        ) from None
    source = Path(version.__file__).parent
    watch_filter = PythonFilter(extra_extensions=(".yaml", ".yml"))
    # Handle SIGTERM like Ctrl-C, so that the child is stopped too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    child = _spawn_server()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                # Watch again each time: an editor that replaces a file removes the watched inode.
                paths = [source, *(path for path in config_files if path.exists())]
                changes = next(watch(*paths, watch_filter=watch_filter))
                names = ", ".join(sorted({Path(name).name for _, name in changes}))
                click.echo(f"Changed: {names}. Junto begins anew.", err=True)
                _stop_server(child)
                child = _spawn_server()
    finally:
        _stop_server(child)


def _spawn_server() -> "subprocess.Popen[bytes]":
    args = [arg for arg in sys.argv[1:] if arg != "--reload"]
    return subprocess.Popen([sys.executable, "-P", "-m", "junto", *args])  # noqa: S603 - our own command line


def _stop_server(child: "subprocess.Popen[bytes]") -> None:
    """Terminate the server and wait until it has finished its calls."""
    child.send_signal(signal.SIGTERM)
    child.wait()
