"""The sessions that the manual shows, gone through as a reader would."""

import re
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Manual
from tests.households import household

_ANSWERED = re.compile(r"^\$ (.+)\n((?:(?!\$ ).*\n?)*)", re.MULTILINE)
# What is different on every machine, as the manual shows it.
_NUMBERS = (
    (r"pid \d+", "pid 4711"),
    (r"since \S+", "since …"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:32701"),
)


def shown(page: str, *commands: str) -> list[tuple[str, str]]:
    """Return what a page shows for these commands, in the order in which it does."""
    blocks = Manual(ROOT / "docs" / page).blocks("console")
    found = [pair for block in blocks for pair in _ANSWERED.findall(block)]
    return [(line, answer) for line, answer in found if line in commands]


@pytest.mark.parametrize(
    ("page", "commands"),
    [
        ("quickstart.md", ["junto install claude-code", "junto doctor"]),
        ("background.md", ["junto start", "junto status", "junto stop"]),
    ],
)
def test_a_session_is_what_the_program_says(page: str, commands: list[str], tmp_path: Path) -> None:
    session = shown(page, *commands)

    assert [line for line, _ in session] == commands
    with household(tmp_path) as home:
        for line, answer in session:
            done = home.run(*line.split()[1:])
            said = told(done.stdout + done.stderr, tmp_path)
            wanted = told(answer, tmp_path).splitlines()
            assert [each for each in wanted if each not in said.splitlines()] == [], said


def told(text: str, home: Path) -> str:
    """Return what was said with the places and numbers of the manual."""
    text = text.replace(str(Path(sys.executable).parent), "/home/ada/.local/bin")
    text = text.replace(str(home / "data"), "/home/me/.local/share").replace(str(home), "/home/ada")
    for pattern, instead in _NUMBERS:
        text = re.sub(pattern, instead, text)
    return text
