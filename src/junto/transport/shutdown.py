"""Graceful shutdown on SIGINT and SIGTERM."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class Shutdown:
    """Calls the current listener on each signal; the signal itself does not end the process."""

    _listeners: list[Callable[[], None]] = field(default_factory=list, init=False)

    @contextlib.contextmanager
    def handle_signals(self) -> Iterator[None]:
        """Install the signal handlers until the end of the block."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(NotImplementedError):  # on Windows
            for signum in _SIGNALS:
                loop.add_signal_handler(signum, self._notify)
        try:
            yield
        finally:
            with contextlib.suppress(NotImplementedError):
                for signum in _SIGNALS:
                    loop.remove_signal_handler(signum)

    def set_listener(self, listener: Callable[[], None]) -> None:
        """Call `listener` on signals from now on, instead of the previous one."""
        self._listeners.append(listener)

    def _notify(self) -> None:
        if self._listeners:
            self._listeners[-1]()
