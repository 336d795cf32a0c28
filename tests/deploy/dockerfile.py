"""The root of the repository, the variables of the settings, and the parsed Dockerfile."""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from junto.settings.aliases import ALIASES
from junto.settings.fields import collect_fields

ROOT = Path(__file__).parents[2]
# Every environment variable that the settings read, aliases included.
SETTINGS_VARIABLES = {field.variable for field in collect_fields().values()} | {
    alias.variable for alias in ALIASES
}


@dataclass(frozen=True)
class Instruction:
    """One instruction of the Dockerfile, and its build stage; the unnamed one is `last`."""

    keyword: str
    rest: str
    stage: str

    def arguments(self) -> list[str]:
        """Return its arguments without flags."""
        return [word for word in shlex.split(self.rest) if not word.startswith("--")]

    def command(self) -> list[str]:
        """Return its command in exec form."""
        words: list[str] = json.loads(self.rest[self.rest.index("[") :])
        return words


def parse_dockerfile() -> list[Instruction]:
    """Return the instructions of the Dockerfile."""
    text = (ROOT / "Dockerfile").read_text()
    lines = re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n", "", text)).splitlines()
    parsed: list[Instruction] = []
    stage = ""
    for line in filter(None, lines):
        keyword, _, rest = line.partition(" ")
        if keyword == "FROM":
            stage = rest.partition(" AS ")[2] or "last"
        parsed.append(Instruction(keyword, rest.strip(), stage))
    return parsed
