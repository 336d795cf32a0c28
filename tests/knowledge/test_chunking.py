import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from junto.knowledge.chunking import Chunk, TextStructure, iter_chunks

PIECES = ["# A\n", "## B\n", "word ", "A sentence. ", "\n", "\n\n", "```\n", "def f():\n", "  x\n"]
TEXTS = st.one_of(
    st.text(max_size=3000),
    st.lists(st.sampled_from([*PIECES, "x" * 700]), max_size=200).map("".join),
)


def chunk_texts(text: str, structure: TextStructure) -> list[str]:
    return [text[chunk.start : chunk.end] for chunk in iter_chunks(text, structure)]


@given(TEXTS, st.sampled_from(TextStructure))
def test_chunks_cover_everything_that_is_not_blank_and_have_a_maximum_length(
    text: str, structure: TextStructure
) -> None:
    chunks = list(iter_chunks(text, structure))

    covered = 0
    for chunk in chunks:
        assert not text[covered : chunk.start].strip()
        assert covered < chunk.end  # each adds new text
        assert chunk.end - chunk.start <= 1200
        assert text[chunk.start : chunk.end].strip() == text[chunk.start : chunk.end] != ""
        covered = chunk.end
    assert not text[covered:].strip()


def test_markdown_chunks_carry_the_headings_above_them() -> None:
    text = "Before.\n# One\nFirst.\n## Deep ##\nSecond.\n\nThird.\n# Two\nLast.\n"

    found = [
        (chunk.headings, text[chunk.start : chunk.end])
        for chunk in iter_chunks(text, TextStructure.MARKDOWN)
    ]

    assert found == [
        ((), "Before."),
        (("One",), "# One\nFirst."),
        (("One", "Deep"), "## Deep ##\nSecond.\n\nThird."),
        (("Two",), "# Two\nLast."),
    ]


def test_a_comment_in_a_code_block_is_not_a_heading() -> None:
    text = "# One\n```sh\n# not a heading\n\nmake\n```\nAfter.\n"

    [chunk] = iter_chunks(text, TextStructure.MARKDOWN)

    assert chunk == Chunk(0, len(text) - 1, ("One",))


def test_code_is_split_at_definitions() -> None:
    body = "    pass  # " + "x" * 500 + "\n"
    text = f"import os\n\n\ndef first():\n{body}\n\nclass Second:\n    def inner(self):\n    {body}"

    chunks = list(iter_chunks(text, TextStructure.CODE))

    assert [chunk.headings for chunk in chunks] == [(), ("first",), ("Second",)]
    assert text[chunks[2].start :].startswith("class Second:\n    def inner")


def test_adjacent_chunks_share_a_sentence() -> None:
    text = " ".join(f"This is sentence number {number}." for number in range(100))

    chunks = chunk_texts(text, TextStructure.PLAIN)

    assert len(chunks) > 2
    for before, after in itertools.pairwise(chunks):
        assert before.split(". ")[-1].rstrip(".") in after


@pytest.mark.parametrize("structure", TextStructure)
def test_a_long_text_takes_linear_time(structure: TextStructure) -> None:
    line = "word " * 10 + "\n"

    for text in (line * 10_000, "x" * 500_000, "\n" * 200_000, "# a\n" * 50_000):
        assert sum(1 for _ in iter_chunks(text, structure)) < len(text)
