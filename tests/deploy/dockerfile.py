"""The repository as whoever packs it sees it, and the Dockerfile as a list of instructions."""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from junto.settings.aliases import ALIASES
from junto.settings.leaves import leaves

ROOT = Path(__file__).parents[2]
# What the settings understand, under any name.
VARIABLES = {leaf.variable for leaf in leaves().values()} | {alias.variable for alias in ALIASES}


@dataclass(frozen=True)
class Instruction:
    """One line of a Dockerfile, and the name or number of the stage that it belongs to."""

    word: str
    rest: str
    stage: str

    def arguments(self) -> list[str]:
        """Return its words without flags."""
        return [word for word in shlex.split(self.rest) if not word.startswith("--")]

    def command(self) -> list[str]:
        """Return the command that it gives as a list."""
        words: list[str] = json.loads(self.rest[self.rest.index("[") :])
        return words


def instructions() -> list[Instruction]:
    """Return the instructions of the Dockerfile."""
    text = (ROOT / "Dockerfile").read_text()
    lines = re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n", "", text)).splitlines()
    found: list[Instruction] = []
    stage = ""
    for line in filter(None, lines):
        word, _, rest = line.partition(" ")
        if word == "FROM":
            stage = rest.partition(" AS ")[2] or "last"
        found.append(Instruction(word, rest.strip(), stage))
    return found
