"""Signals that want the process to end, told to whoever has something to finish first."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class Stopping:
    """Tells the latest listener of each signal; none ends the process by itself."""

    _listeners: list[Callable[[], None]] = field(default_factory=list, init=False)

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """Listen for signals until the end of the block."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(NotImplementedError):  # Windows
            for number in _SIGNALS:
                loop.add_signal_handler(number, self._ring)
        try:
            yield
        finally:
            with contextlib.suppress(NotImplementedError):
                for number in _SIGNALS:
                    loop.remove_signal_handler(number)

    def tell(self, listener: Callable[[], None]) -> None:
        """Tell `listener` from now on, and whoever came before no more."""
        self._listeners.append(listener)

    def _ring(self) -> None:
        if self._listeners:
            self._listeners[-1]()
