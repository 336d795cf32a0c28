"""Tables fit the terminal they are shown in, and are whole in a pipe."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.cli.table import fitted, table
from junto.cli.writing import shortened, width
from tests.clients import clean_environment, junto
from tests.terminals import seen

HEAD = ("ID", "TITLE", "COUNT")
ROWS = [HEAD, ("1", "Why is the sky blue?", "2"), ("22", "天空为什么是蓝色的", "1,234")]


def test_numbers_stand_right_and_wide_characters_take_two_columns() -> None:
    assert table(ROWS, right=("COUNT",)).split("\n") == [
        "ID  TITLE                 COUNT",
        "1   Why is the sky blue?      2",
        "22  天空为什么是蓝色的    1,234",
    ]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("plain", 5),
        ("天空", 4),
        ("🚀", 2),
        ("e\N{COMBINING ACUTE ACCENT}", 1),
        ("a\N{ZERO WIDTH JOINER}b", 2),
        ("ﾊﾝ", 2),
        ("", 0),
    ],
)
def test_a_text_is_as_wide_as_a_terminal_shows_it(text: str, columns: int) -> None:
    assert width(text) == columns


def test_what_does_not_fit_is_shortened_and_then_left_out() -> None:
    rows = [("ID", "TITLE", "MODEL"), ("a" * 8, "t" * 60, "m" * 12)]

    assert fitted(rows, 100, shorten=("TITLE",), drop=("MODEL",)) == [list(row) for row in rows]
    assert fitted(rows, 50, shorten=("TITLE",), drop=("MODEL",)) == [
        ["ID", "TITLE", "MODEL"],
        ["a" * 8, "t" * 25 + "…", "m" * 12],
    ]
    assert fitted(rows, 40, shorten=("TITLE",), drop=("MODEL",)) == [
        ["ID", "TITLE"],
        ["a" * 8, "t" * 29 + "…"],
    ]
    assert fitted(rows, 20, shorten=("TITLE",), drop=("MODEL",))[1] == ["a" * 8, "t" * 9 + "…"]


@given(
    st.lists(st.tuples(st.text(max_size=30), st.text(max_size=80)), min_size=1, max_size=5),
    st.integers(40, 200),
)
def test_a_table_that_may_be_shortened_is_never_too_wide(
    cells: list[tuple[str, str]], room: int
) -> None:
    plain = [tuple(" ".join(cell.split()) for cell in row) for row in cells]
    rows = fitted([("A", "B"), *plain], room, shorten=("A", "B"))

    assert all(width(line) <= room for line in table(rows).split("\n"))


@given(st.text(max_size=50), st.integers(1, 60))
def test_a_shortened_text_fits_and_is_marked(text: str, columns: int) -> None:
    short = shortened(text, columns)

    assert width(short) <= columns
    assert short == text or short.endswith("…")


def shown(home: Path, columns: int, *words: str, **variables: str) -> str:
    """Return what a command shows in a terminal that is so wide."""
    environment = clean_environment(home, **variables)
    return seen(words, environment, home, columns, talk=False).replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [80, 120])
def test_settings_fit_the_terminal_and_are_whole_in_a_pipe(tmp_path: Path, columns: int) -> None:
    long = {"JUNTO_ANSWERS_SYSTEM": "You are " + "very " * 60 + "kind."}

    terminal = shown(tmp_path, columns, "config", "show", TERM="xterm", **long)
    piped = subprocess.run(
        junto("config", "show"),
        env=clean_environment(tmp_path, **long),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    plain = re.sub(r"\x1b\[\d*m", "", terminal)
    assert max(map(len, plain.splitlines())) <= columns
    assert "…" in plain
    assert terminal.startswith("\x1b[2mSETTING")
    assert "very kind." in piped
    assert "\x1b" not in piped


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_who_wants_no_colour_gets_none(tmp_path: Path, variables: dict[str, str]) -> None:
    terminal = shown(tmp_path, 80, "config", "show", **{"TERM": "xterm", **variables})

    assert terminal.startswith("SETTING ")
    assert "\x1b" not in terminal
