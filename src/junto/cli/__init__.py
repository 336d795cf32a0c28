"""The command `junto`."""

import gc
from typing import NoReturn


def main() -> NoReturn:
    """Run the command that the arguments name.

    A start makes hundreds of thousands of objects that live to the end; looking through them for
    garbage would take a sixth of its time. Commands that stay call `settled` once they are up.
    """
    gc.disable()
    from junto.cli.main import run

    run()


def settled() -> None:
    """Collect garbage from now on, but never look again at what the start has made."""
    gc.freeze()
    gc.enable()
