"""The command `junto`."""

import gc
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command that the arguments name.

    A start makes hundreds of thousands of objects that live to the end; looking through them for
    garbage would take a tenth of its time. Commands that stay call `settled` once they are up.
    """
    if sys.platform == "win32":
        sys.exit("junto: Junto runs on Linux and macOS. On Windows, use it inside WSL.")
    gc.disable()
    _open_descriptors()
    try:
        from junto.cli.main import run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


def _open_descriptors() -> None:
    """Open what is closed of descriptors 0 to 2, or the next file would take its place."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def settled() -> None:
    """Collect garbage from now on, but never look again at what the start has made."""
    gc.freeze()
    gc.enable()
