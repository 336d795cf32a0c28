"""An answer that comes in pieces, and whose lines end between words."""

from dataclasses import dataclass, field

from junto.cli.writing import width

_FENCE = "```"
# How lines begin that mean something as they are: tables, and what is between fences.
_KEPT = ("|", _FENCE)


@dataclass(slots=True)
class Flow:
    """Takes text as it comes and gives it with lines for so many columns.

    The word at the end is held back until it is whole. Code and tables are left as they are.
    """

    room: int
    _column: int = field(default=0, init=False)
    _blanks: int = field(default=0, init=False)
    _word: str = field(default="", init=False)
    _kept: bool = field(default=False, init=False)
    _fenced: bool = field(default=False, init=False)

    def takes(self, text: str) -> str:
        """Return what can be written now."""
        return "".join(map(self._character, text))

    def rest(self) -> str:
        """Return what was held back."""
        placed = self._placed()
        fits = self._kept or self._column + self._blanks <= self.room
        return placed + " " * self._blanks if fits else placed

    def _character(self, character: str) -> str:
        if character == "\n":
            ended = self.rest() + "\n"
            self._column, self._blanks, self._kept = 0, 0, self._fenced
            return ended
        if character == " ":
            placed = self._placed()
            self._blanks += 1
            return placed
        if width(character) > 1:  # where words have no blanks between them, a line ends anywhere
            before = self._placed()
            self._word = character
            return before + self._placed()
        self._word += character
        return ""

    def _placed(self) -> str:
        """Return the word that is held back, on this line or on the next."""
        word, self._word = self._word, ""
        if not word:
            return ""
        columns = width(word)
        if not self._column:
            self._begins(word)
        if self._column and not self._kept and self._column + self._blanks + columns > self.room:
            before, self._column = "\n", 0
        else:
            before = " " * self._blanks
        self._column += len(before.strip("\n")) + columns
        self._blanks = 0
        return before + word

    def _begins(self, word: str) -> None:
        if word.startswith(_FENCE):
            self._fenced = not self._fenced
        self._kept = self._fenced or self._blanks > 0 or word.startswith(_KEPT)
