"""An answer is wrapped between words, no matter how its stream is split into chunks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.cli.chat_terminal import StreamWrapper
from junto.cli.terminal_text import display_width, wrap_text

PROSE = "The sky appears blue because of a process called Rayleigh scattering."


def wrap_stream(width: int, *chunks: str) -> str:
    wrapper = StreamWrapper(width)
    return "".join(map(wrapper.feed, chunks)) + wrapper.flush()


def test_prose_is_wrapped_between_words() -> None:
    assert wrap_stream(30, PROSE) == (
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
def test_code_tables_long_words_and_short_lines_are_unchanged(text: str) -> None:
    assert wrap_stream(40, text) == text


def test_prose_after_code_is_wrapped_again() -> None:
    assert wrap_stream(30, f"```\n{PROSE}\n```\n{PROSE}").split("\n")[2:] == [
        "```",
        "The sky appears blue because",
        "of a process called Rayleigh",
        "scattering.",
    ]


def test_a_word_is_written_as_soon_as_it_is_complete() -> None:
    wrapper = StreamWrapper(80)

    assert [wrapper.feed(chunk) for chunk in ("Why", " is", " the s", "ky?", "\n")] == [
        "",
        "Why",
        " is the",
        "",
        " sky?\n",
    ]


@given(st.lists(st.text("ab天 \n`|", max_size=12), max_size=12), st.integers(8, 40))
def test_wrapping_does_not_depend_on_how_the_stream_is_split(chunks: list[str], width: int) -> None:
    assert wrap_stream(width, *chunks) == wrap_stream(width, "".join(chunks))


@given(st.text("abc \n", max_size=200), st.integers(8, 40))
def test_only_whitespace_is_changed(text: str, width: int) -> None:
    assert wrap_stream(width, text).split() == text.split()


@given(st.lists(st.text("ab天", min_size=1, max_size=8), min_size=1), st.integers(20, 60))
def test_no_line_is_wider_than_the_terminal_unless_a_word_is(words: list[str], width: int) -> None:
    text = " ".join(words)

    assert max(map(display_width, wrap_stream(width, text).split("\n"))) <= width
    assert max(map(display_width, wrap_text(text, width).split("\n"))) <= width
    assert wrap_stream(width, text).replace("\n", "").replace(" ", "") == text.replace(" ", "")
    assert wrap_text(text, None) == text


@given(st.lists(st.text("ab", min_size=1, max_size=8), min_size=1), st.integers(20, 60))
def test_a_stream_is_wrapped_like_the_whole_text(words: list[str], width: int) -> None:
    text = " ".join(words)

    assert wrap_text(text, width) == wrap_stream(width, text)


def test_text_without_spaces_is_written_immediately() -> None:
    wrapper = StreamWrapper(8)

    chunks = [wrapper.feed(character) for character in "天空為何是藍"]

    assert chunks == ["天", "空", "為", "何", "\n是", "藍"]
    assert wrapper.feed(" so ") == " so"


def test_wrapped_lines_keep_their_indentation() -> None:
    assert wrap_text("    one two three", 12) == "    one two\n    three"
