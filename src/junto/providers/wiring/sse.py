"""Server-sent events: bytes in, the data of each event out."""

from collections.abc import Iterator

_MOST_BYTES = 16 * 1024 * 1024


class EventTooLongError(ValueError):
    """One event is longer than anything a model would send."""


class SseReader:
    """Cuts a stream into events, however the network has cut it before."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the data of every event that `chunk` completes.

        Raises:
            EventTooLongError: an event does not end.
        """
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            line = line.rstrip(b"\r")  # noqa: PLW2901 - the same line without its ending
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                yield b"\n".join(self._data)
                self._data.clear()
        if len(self._rest) > _MOST_BYTES:
            raise EventTooLongError

    def end(self) -> Iterator[bytes]:
        """Yield the last event, if the stream ended without the blank line after it."""
        yield from self.feed(b"\n\n")
