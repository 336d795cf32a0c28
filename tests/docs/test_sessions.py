"""The terminal sessions of the manual, run as a reader would."""

import re
import sys
from pathlib import Path

import pytest

from tests.daemon_home import daemon_home
from tests.docs.pages import ROOT, ManualPage

_COMMAND_AND_OUTPUT = re.compile(r"^\$ (.+)\n((?:(?!\$ ).*\n?)*)", re.MULTILINE)
# What differs on every machine, and what the manual shows instead.
_VARYING_VALUES = (
    (r"pid \d+", "pid 4711"),
    (r"since \S+", "since …"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:32701"),
)


def load_session(page: str, *commands: str) -> list[tuple[str, str]]:
    """Return these commands and the output that a page shows for each, in its order."""
    blocks = ManualPage(ROOT / "docs" / page).blocks("console")
    steps = [pair for block in blocks for pair in _COMMAND_AND_OUTPUT.findall(block)]
    return [(command, output) for command, output in steps if command in commands]


@pytest.mark.parametrize(
    ("page", "commands"),
    [
        ("tutorials/quickstart.md", ["junto install claude-code", "junto doctor"]),
        ("how-to/background.md", ["junto start", "junto status", "junto stop"]),
    ],
)
def test_a_session_shows_what_the_program_prints(
    page: str, commands: list[str], tmp_path: Path
) -> None:
    session = load_session(page, *commands)

    assert [command for command, _ in session] == commands
    with daemon_home(tmp_path) as home:
        for command, shown in session:
            done = home.run(*command.split()[1:])
            printed = normalize_output(done.stdout + done.stderr, tmp_path)
            expected = normalize_output(shown, tmp_path).splitlines()
            assert [each for each in expected if each not in printed.splitlines()] == [], printed


def normalize_output(text: str, home: Path) -> str:
    """Replace the paths and numbers of this machine with those of the manual."""
    text = text.replace(str(Path(sys.executable).parent), "/home/ada/.local/bin")
    text = text.replace(str(home / "data"), "/home/me/.local/share").replace(str(home), "/home/ada")
    for pattern, replacement in _VARYING_VALUES:
        text = re.sub(pattern, replacement, text)
    return text
