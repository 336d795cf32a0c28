"""An answer is broken between words, wherever the pieces end in which it comes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.cli.flowing import Flow
from junto.cli.writing import width, wrapped

PROSE = "The sky appears blue because of a process called Rayleigh scattering."


def flowed(room: int, *pieces: str) -> str:
    flow = Flow(room)
    return "".join(map(flow.takes, pieces)) + flow.rest()


def test_prose_is_broken_between_words() -> None:
    assert flowed(30, PROSE) == (
        "The sky appears blue because\nof a process called Rayleigh\nscattering."
    )


@pytest.mark.parametrize(
    "text",
    [
        "```python\n" + "x = " + "1 + " * 30 + "1\n```",
        "    indented" + " code" * 30,
        "| a | table " + "| wide " * 30 + "|",
        "averylongwordthatcannotbebrokenatall" * 3,
        "short\n\nlines  with   blanks",
    ],
)
def test_code_tables_and_what_fits_stay_as_they_are(text: str) -> None:
    assert flowed(40, text) == text


def test_prose_after_code_is_broken_again() -> None:
    assert flowed(30, f"```\n{PROSE}\n```\n{PROSE}").split("\n")[2:] == [
        "```",
        "The sky appears blue because",
        "of a process called Rayleigh",
        "scattering.",
    ]


def test_a_word_is_written_as_soon_as_it_is_whole() -> None:
    flow = Flow(80)

    assert [flow.takes(piece) for piece in ("Why", " is", " the s", "ky?", "\n")] == [
        "",
        "Why",
        " is the",
        "",
        " sky?\n",
    ]


@given(st.lists(st.text("ab天 \n`|", max_size=12), max_size=12), st.integers(8, 40))
def test_it_does_not_matter_in_which_pieces_a_text_comes(pieces: list[str], room: int) -> None:
    assert flowed(room, *pieces) == flowed(room, "".join(pieces))


@given(st.text("abc \n", max_size=200), st.integers(8, 40))
def test_nothing_but_blanks_and_ends_of_lines_is_changed(text: str, room: int) -> None:
    assert flowed(room, text).split() == text.split()


@given(st.lists(st.text("ab天", min_size=1, max_size=8), min_size=1), st.integers(20, 60))
def test_no_line_is_wider_than_the_terminal_if_its_words_are_not(
    words: list[str], room: int
) -> None:
    text = " ".join(words)

    assert max(map(width, flowed(room, text).split("\n"))) <= room
    assert max(map(width, wrapped(text, room).split("\n"))) <= room
    assert flowed(room, text).replace("\n", "").replace(" ", "") == text.replace(" ", "")
    assert wrapped(text, None) == text


@given(st.lists(st.text("ab", min_size=1, max_size=8), min_size=1), st.integers(20, 60))
def test_words_come_to_the_same_lines_at_once_and_piece_by_piece(
    words: list[str], room: int
) -> None:
    text = " ".join(words)

    assert wrapped(text, room) == flowed(room, text)


def test_a_language_without_blanks_is_written_as_it_comes() -> None:
    flow = Flow(8)

    pieces = [flow.takes(each) for each in "天空為何是藍"]

    assert pieces == ["天", "空", "為", "何", "\n是", "藍"]
    assert flow.takes(" so ") == " so"


def test_a_line_that_is_set_to_the_right_stays_there() -> None:
    assert wrapped("    one two three", 12) == "    one two\n    three"
