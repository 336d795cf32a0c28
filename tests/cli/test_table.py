"""Tables fit the terminal they are shown in, and are complete in a pipe."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.cli.table import fit_rows, format_table
from junto.cli.terminal_text import display_width, truncate
from tests.clients import clean_environment, junto_command
from tests.terminal import run_in_terminal

HEADER = ("ID", "TITLE", "COUNT")
ROWS = [HEADER, ("1", "Why is the sky blue?", "2"), ("22", "天空为什么是蓝色的", "1,234")]


def test_numbers_are_right_aligned_and_wide_characters_take_two_columns() -> None:
    assert format_table(ROWS, align_right=("COUNT",)).split("\n") == [
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
def test_display_width_is_the_number_of_terminal_columns(text: str, columns: int) -> None:
    assert display_width(text) == columns


def test_columns_that_do_not_fit_are_shortened_and_then_dropped() -> None:
    rows = [("ID", "TITLE", "MODEL"), ("a" * 8, "t" * 60, "m" * 12)]

    assert fit_rows(rows, 100, shorten=("TITLE",), drop=("MODEL",)) == [list(row) for row in rows]
    assert fit_rows(rows, 50, shorten=("TITLE",), drop=("MODEL",)) == [
        ["ID", "TITLE", "MODEL"],
        ["a" * 8, "t" * 25 + "…", "m" * 12],
    ]
    assert fit_rows(rows, 40, shorten=("TITLE",), drop=("MODEL",)) == [
        ["ID", "TITLE"],
        ["a" * 8, "t" * 29 + "…"],
    ]
    assert fit_rows(rows, 20, shorten=("TITLE",), drop=("MODEL",))[1] == ["a" * 8, "t" * 9 + "…"]


@given(
    st.lists(st.tuples(st.text(max_size=30), st.text(max_size=80)), min_size=1, max_size=5),
    st.integers(40, 200),
)
def test_a_table_whose_columns_can_be_shortened_is_never_too_wide(
    cells: list[tuple[str, str]], width: int
) -> None:
    plain = [tuple(" ".join(cell.split()) for cell in row) for row in cells]
    rows = fit_rows([("A", "B"), *plain], width, shorten=("A", "B"))

    assert all(display_width(line) <= width for line in format_table(rows).split("\n"))


@given(st.text(max_size=50), st.integers(1, 60))
def test_truncated_text_fits_and_ends_with_an_ellipsis(text: str, columns: int) -> None:
    short = truncate(text, columns)

    assert display_width(short) <= columns
    assert short == text or short.endswith("…")


def show_in_terminal(home: Path, columns: int, *words: str, **variables: str) -> str:
    """Return what a command prints in a terminal with this many columns."""
    environment = clean_environment(home, **variables)
    return run_in_terminal(words, environment, home, columns, talk=False).replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [80, 120])
def test_settings_fit_the_terminal_and_are_complete_in_a_pipe(tmp_path: Path, columns: int) -> None:
    long_value = {"JUNTO_ANSWERS_SYSTEM": "You are " + "very " * 60 + "kind."}

    terminal = show_in_terminal(tmp_path, columns, "config", "show", TERM="xterm", **long_value)
    piped = subprocess.run(
        junto_command("config", "show"),
        env=clean_environment(tmp_path, **long_value),
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
def test_no_color_and_dumb_terminals_get_plain_text(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    terminal = show_in_terminal(tmp_path, 80, "config", "show", **{"TERM": "xterm", **variables})

    assert terminal.startswith("SETTING ")
    assert "\x1b" not in terminal
