"""Files made to break whoever reads them, and what is left of that: a line for a report."""

import asyncio
import contextlib
import random
import struct
import zipfile
import zlib
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from junto.knowledge.formats.child import answered
from junto.knowledge.formats.kinds import kind_of
from junto.knowledge.formats.readable import Readable, UnreadableError
from junto.knowledge.formats.service import Formats
from tests.knowledge.documents import CONTAINER, epub, laid_out, pdf, with_part, word, zipped

LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + ' <!ENTITY f SYSTEM "file:///etc/passwd">]>'
)
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
PASSWORD = (
    f"/Encrypt << /Filter /Standard /V 1 /R 2 /O <{'41' * 32}> /U <{'42' * 32}> /P -4 >> "
    "/ID [<00> <00>]"
)
CIPHERED = (
    '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<CipherReference URI="OEBPS/a.xhtml"/></encryption>'
)


def rewritten(archive: bytes, at_local: int, at_central: int, value: bytes) -> bytes:
    """Return an archive with something else written in the heads of all its files."""
    changed = bytearray(archive)
    for mark, offset in ((b"PK\x03\x04", at_local), (b"PK\x01\x02", at_central)):
        place = archive.find(mark)
        while place >= 0:
            changed[place + offset : place + offset + len(value)] = value
            place = archive.find(mark, place + 1)
    return bytes(changed)


def claiming(archive: bytes, size: int) -> bytes:
    """Return an archive that says of each of its files that it is so large."""
    return rewritten(archive, 22, 24, struct.pack("<I", size))


def lying() -> bytes:
    """Return a document that says that it is small, even by its checksum, and is not."""
    archive = zipped({"word/document.xml": b"\0" * 50_000_000})
    return rewritten(claiming(archive, 100), 14, 16, struct.pack("<I", zlib.crc32(b"\0" * 100)))


NOISE = random.Random(1).randbytes(10_000)  # noqa: S311 - the same each time
REFUSED: dict[str, tuple[str, bytes, str]] = {
    "nothing": ("a.pdf", b"", "not a PDF, though it is called one"),
    "a picture": ("a.docx", b"\x89PNG", "not a DOCX, though it is called one"),
    "old word": ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "encrypted, or of an older Word"),
    "pdf of nothing": ("a.pdf", b"%PDF-1.7\n", "a broken PDF"),
    "pdf of noise": ("a.pdf", b"%PDF-1.7\n" + NOISE, "a broken PDF"),
    "cut off": ("a.pdf", pdf(["x"])[:200], "a broken PDF"),
    "with a password": (
        "a.pdf",
        laid_out(["<< /Type /Catalog /Pages 2 0 R >>", "<< /Kids [] >>"], trailer=PASSWORD),
        "encrypted",
    ),
    "scanned": ("a.pdf", pdf([], []), "has no text, only pictures"),
    "no archive": ("a.docx", b"PK\x03\x04 and so on", "broken: it cannot be unpacked"),
    "another archive": ("a.docx", zipped({"x": "y"}), "a broken DOCX: no document is in it"),
    "gigabytes": (
        "a.docx",
        claiming(zipped({"word/document.xml": "x", "y": "y", "z": "z"}), 0xFFFFFFF0),
        "unpacks to more than 64 MB",
    ),
    "nothing but repetition": (
        "a.epub", zipped({"x": b"\0" * 20_000_000}), "unpacks to more than 100 times its size",
    ),
    "many files": (
        "a.epub", zipped({str(number): "" for number in range(10_001)}), "holds more than 10,000",
    ),
    "locked": ("a.docx", rewritten(word(), 6, 8, b"\x01\x00"), "encrypted"),
    "packed strangely": (
        "a.docx", zipped({"word/document.xml": "x"}, zipfile.ZIP_LZMA), "packed in an unusual way",
    ),
    "larger than it says": ("a.docx", lying(), "a broken DOCX"),
    "a book without a map": ("a.epub", zipped({"x": "y"}), "a broken EPUB: its chapters"),
    "a book with no map": (
        "a.epub", zipped({"META-INF/container.xml": "<x/>"}), "a broken EPUB: its chapters",
    ),
    "a book with a broken map": (
        "a.epub",
        zipped({"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": "<x"}),
        "a broken EPUB: its chapters",
    ),
    "a book of nothing": ("a.epub", epub({}), "has no text, only pictures"),
    "a book with a key": (
        "a.epub", epub({"a": "x"}, **{"META-INF_encryption.xml": CIPHERED}), "encrypted",
    ),
    "deep data": ("a.json", b"[" * 1_000_000, "has more than 100 levels"),
    "data a little too deep": ("a.json", b"[" * 102 + b"]" * 102, "has more than 100 levels"),
    "deep lines": ("a.jsonl", b"1\n" + b'{"a":' * 100_000, "has more than 100 levels"),
    "no notebook": ("a.ipynb", b"[]", "not a notebook, though it is called one"),
    "a broken notebook": ("a.ipynb", b"{", "not a notebook, though it is called one"),
    "much of little": (
        "a.csv", b"%s,b\n" % (b"x" * 100) + b"1,2\n" * 200_000, "holds more than 16 million",
    ),
    "a long page": ("a.html", b"x" * 16_000_001, "holds more than 16 million characters"),
    "zeros": ("a.txt", b"text\0text", "a binary file"),
    "controls": ("a", b"\x01\x02\x03 a word", "a binary file"),
    "binary": ("a.md", NOISE, "a binary file"),
    "binary page": ("a.html", NOISE, "a binary file"),
    "an unknown archive": ("a.zip", zipped({"x": "y" * 100}), "a binary file"),
    "laughing word": (
        "a.docx",
        with_part(word(), f"{LAUGHS}<w:document {W}><w:body><w:p><w:r><w:t>&i;&f;</w:t>"
        "<w:t>x</w:t></w:r></w:p></w:body></w:document>"),
        "a broken DOCX",
    ),
}  # fmt: skip
READ: dict[str, tuple[str, bytes, str]] = {
    "deep page": ("a.html", b"<div>" * 100_000 + b"x", "x"),
    "half a character": ("a.json", b'["a\\ud800b", "\\ud83d\\ude00"]', "- a\ufffdb\n- \U0001f600"),
    "half a character in lines": ("a.txt", b"a\xed\xa0\x80b", "a"),
    "zeros in data": ("a.json", b'"a\\u0000b"', "a\ufffdb"),
    "a long number": ("a.json", b"1" * 100_000, "1" * 100_000),
    "a long name": ("a.html", b"&#" + b"1" * 100_000 + b";", "\ufffd"),
    "an open quote": ("a.csv", b'a,b\n"' + b"x" * 200_000, "a: xxx"),
    "quotes": ("a.csv", b",'\"" * 1000, ""),
    "laughing book": (
        "a.epub", epub({"a": f"{LAUGHS}<p>&i;&f; x</p>"}, "&lt;&amp;"), "&i;&f; x",
    ),
    "a page of itself": (
        "a.pdf", pdf(["x"]).replace(b"/Kids [4 0 R]", b"/Kids [4 0 R 2 0 R]"), "x",
    ),
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def formats() -> AsyncIterator[Formats]:
    async with Formats(seconds=20) as formats:
        yield formats


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REFUSED)
async def test_a_hostile_file_is_a_line_in_a_report(formats: Formats, name: str) -> None:
    file, content, problem = REFUSED[name]

    with pytest.raises(UnreadableError) as caught:
        await formats.read(file, content)

    assert str(caught.value).startswith(problem)
    assert "\n" not in str(caught.value)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", READ)
async def test_a_strange_file_gives_the_text_that_it_has(formats: Formats, name: str) -> None:
    file, content, text = READ[name]

    read = await formats.read(file, content)

    assert text in read.text
    assert "root:" not in read.text
    assert len(read.text) <= 4 * len(content)
    read.text.encode()  # there are no halves of characters


@pytest.mark.parametrize("name", [*REFUSED, *READ])
def test_the_child_has_an_answer_to_everything(name: str) -> None:
    file, content, expected = (REFUSED | READ)[name]
    try:
        kind = kind_of(file, content)
    except UnreadableError:
        return  # it gets only what is what it is called
    if kind.reader is None or expected == "a binary file":
        return

    header, body = answered({"reader": kind.reader}, content)

    assert expected in str(header.get("problem", body.decode().replace("\0", "\ufffd")))


def mutated(content: bytes, luck: random.Random) -> bytes:
    """Return a file with some of it changed, doubled, or gone."""
    made = bytearray(content)
    for _ in range(luck.randint(1, 20)):
        at, much = luck.randrange(len(made) + 1), luck.choice((1, 1, 2, 8, 64))
        piece = luck.choice((b"", luck.randbytes(much), made[at : at + much] * 2, b"\xff" * much))
        made[at : at + much] = piece
    return bytes(made)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pdf", pdf(["some", "lines"], ["and", "more"], title="of it")),
        ("a.docx", word()),
        ("a.docx", zipped({"word/document.xml": "<w:document/>", "[Content_Types].xml": "<x/>"})),
        ("a.epub", epub({"a": "<p>x</p>"})),
        ("a.html", b"<title>t</title><p class='x'>a &amp; b</p><pre>c</pre><ul><li>d</ul>" * 3),
        ("a.ipynb", b'{"cells": [{"cell_type": "code", "source": ["x", "y"]}]}'),
        ("a.csv", b'a,b,"c"\n1,2,"3\n4"\n'),
    ],
)
async def test_a_file_that_was_tampered_with_is_read_or_refused(
    formats: Formats, name: str, content: bytes
) -> None:
    luck = random.Random(name)  # noqa: S311 - the same each time

    for _ in range(100):
        with contextlib.suppress(UnreadableError):
            assert "\0" not in (await formats.read(name, mutated(content, luck))).text


@given(st.binary(max_size=300))
def test_any_bytes_are_a_text_or_none(content: bytes) -> None:
    async def read() -> Readable | None:
        try:
            return await Formats().read(
                "a", content.replace(b"\xff", b"e").decode("cp437").encode()
            )
        except UnreadableError:
            return None

    read_ = asyncio.run(read())

    assert read_ is None or "\0" not in read_.text
