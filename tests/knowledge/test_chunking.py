import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.knowledge.chunking import Chunk, Shape, chunks

PIECES = ["# A\n", "## B\n", "word ", "A sentence. ", "\n", "\n\n", "```\n", "def f():\n", "  x\n"]
TEXTS = st.one_of(
    st.text(max_size=3000),
    st.lists(st.sampled_from([*PIECES, "x" * 700]), max_size=200).map("".join),
)


def held(text: str, shape: Shape) -> list[str]:
    return [text[chunk.start : chunk.end] for chunk in chunks(text, shape)]


@given(TEXTS, st.sampled_from(Shape))
def test_all_that_is_not_blank_is_in_a_chunk_and_none_is_long(text: str, shape: Shape) -> None:
    found = list(chunks(text, shape))

    covered = 0
    for chunk in found:
        assert not text[covered : chunk.start].strip()
        assert covered < chunk.end  # each has something new
        assert chunk.end - chunk.start <= 1200
        assert text[chunk.start : chunk.end].strip() == text[chunk.start : chunk.end] != ""
        covered = chunk.end
    assert not text[covered:].strip()


def test_chunks_of_markdown_have_the_headings_above_them() -> None:
    text = "Before.\n# One\nFirst.\n## Deep ##\nSecond.\n\nThird.\n# Two\nLast.\n"

    found = [(chunk.path, text[chunk.start : chunk.end]) for chunk in chunks(text, Shape.MARKDOWN)]

    assert found == [
        ((), "Before."),
        (("One",), "# One\nFirst."),
        (("One", "Deep"), "## Deep ##\nSecond.\n\nThird."),
        (("Two",), "# Two\nLast."),
    ]


def test_what_looks_like_a_heading_in_code_is_none() -> None:
    text = "# One\n```sh\n# not a heading\n\nmake\n```\nAfter.\n"

    [chunk] = chunks(text, Shape.MARKDOWN)

    assert chunk == Chunk(0, len(text) - 1, ("One",))


def test_code_is_cut_where_something_new_is_defined() -> None:
    body = "    pass  # " + "x" * 500 + "\n"
    text = f"import os\n\n\ndef first():\n{body}\n\nclass Second:\n    def inner(self):\n    {body}"

    found = list(chunks(text, Shape.CODE))

    assert [chunk.path for chunk in found] == [(), ("first",), ("Second",)]
    assert text[found[2].start :].startswith("class Second:\n    def inner")


def test_neighbours_share_a_sentence() -> None:
    text = " ".join(f"This is sentence number {number}." for number in range(100))

    found = held(text, Shape.PLAIN)

    assert len(found) > 2
    for before, after in itertools.pairwise(found):
        assert before.split(". ")[-1].rstrip(".") in after


@pytest.mark.parametrize("shape", Shape)
def test_a_long_text_takes_linear_time(shape: Shape) -> None:
    line = "word " * 10 + "\n"

    for text in (line * 10_000, "x" * 500_000, "\n" * 200_000, "# a\n" * 50_000):
        assert sum(1 for _ in chunks(text, shape)) < len(text)
