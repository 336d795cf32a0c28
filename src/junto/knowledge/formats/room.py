"""Text put together from pieces, up to a bound."""

from dataclasses import dataclass, field

from junto.knowledge.formats.readable import UnreadableError

MOST_CHARACTERS = 16_000_000


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reader makes of a file: its text, and the title that it gives itself."""

    text: str
    title: str | None = None


@dataclass(slots=True)
class Room:
    """Collects pieces of text, and says when there are too many."""

    _pieces: list[str] = field(default_factory=list)
    _size: int = 0

    def add(self, piece: str) -> None:
        """Put a piece at the end.

        Raises:
            UnreadableError: the text is too long.
        """
        self._pieces.append(piece)
        self._size += len(piece) + 1
        if self._size > MOST_CHARACTERS:
            raise UnreadableError(
                f"holds more than {MOST_CHARACTERS // 1_000_000} million characters of text"
            )

    def text(self, between: str) -> str:
        """Return the pieces as one text."""
        return between.join(self._pieces)
