"""Search quality with the real model: words and meaning together beat either alone.

The documents are the pages of the language reference that come with Python; the questions are what
a beginner might ask, each with the pages that answer it. Larger public collections are measured by
`python -m bench.quality`; docs/explanation/performance.md has the figures.
"""

from pathlib import Path
from pydoc_data.topics import topics

import pytest
from bench.quality import Collection, measured

MAX_DOCUMENT_CHARS = 7000
QUESTIONS = {
    "repeat a block of statements for as long as a condition holds": "while",
    "go through every item of a list in turn": "for",
    "leave the innermost loop at once": "break",
    "skip the rest of this round and begin the next one": "continue",
    "a small anonymous function written within an expression": "lambda",
    "give a value back to the caller and end the function": "return",
    "a statement that does nothing and only fills a place": "pass",
    "throw an error by hand": "raise",
    "catch an error and tidy up afterwards whatever happens": "try exceptions",
    "check an assumption while debugging": "assert",
    "remove a name or an item of a container": "del",
    "change a variable of the whole module from inside a function": "global",
    "rebind a variable of the enclosing function": "nonlocal",
    "close a file automatically at the end of a block": "with context-managers",
    "choose between two branches by a condition": "if else",
    "take part of a sequence by start, stop and step": "slicings",
    "raise a number to the nth power": "power",
    "moving bits to the left or to the right": "shifting",
    "and, or and exclusive or of the bits of two integers": "bitwise",
    "is a value contained in a collection": "in",
    "add something to a variable in place": "augassign",
    "which values count as false": "truth",
    "and, or, not: short circuit evaluation": "booleans",
    "how to define a new class and its base classes": "class",
    "define a function with default arguments and decorators": "function",
    "wait for a coroutine to finish": "await async",
    "produce values one at a time from a generator": "yield",
    "load code from another file": "import",
    "complex numbers and the square root of minus one": "imaginary",
    "writing a decimal fraction with an exponent": "floating",
    "hexadecimal and octal literals, underscores between digits": "integers",
    "which characters may a variable name have": "identifiers",
    "adding, multiplying, remainder of a division": "binary",
    "a list written in square brackets": "lists",
    "key and value pairs in braces": "dict",
    "emulate numbers: what happens when two objects are added": "numeric-types",
    "where does Python look up a name, and in which scope": "naming",
    "call something with positional and keyword arguments": "calls",
    "dot after an object to get one of its attributes": "attribute-references",
    "negative of a number, inverting all bits": "unary",
}


def build_collection() -> Collection:
    documents = {
        name: (name, text) for name, text in topics.items() if len(text) <= MAX_DOCUMENT_CHARS
    }
    questions = {str(number): text for number, text in enumerate(QUESTIONS)}
    judgements = {
        str(number): dict.fromkeys(names.split(), 1)
        for number, names in enumerate(QUESTIONS.values())
    }
    return Collection(documents, questions, judgements)


@pytest.mark.timeout(300)
async def test_hybrid_search_is_at_least_as_good_as_words_or_meaning_alone(tmp_path: Path) -> None:
    scores = await measured(build_collection(), tmp_path)

    assert scores["both"] >= scores["words"]
    assert scores["both"] >= scores["meaning"]
    assert scores["both"] > 0.7
