"""The `junto` command-line interface: the entry point and process-wide setup."""

import gc
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command given by the process arguments.

    Garbage collection is off during startup: imports create hundreds of thousands of long-lived
    objects, and scanning them would take a tenth of the startup time. Long-running commands call
    `startup.enable_gc` once they are up.
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
    """Open closed standard descriptors (0 to 2), so that no other file reuses their numbers."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
