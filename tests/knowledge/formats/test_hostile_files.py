"""Files made to break their parser: each gives its text, or one line that says why not."""

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

from junto.knowledge.formats.detection import detect_format
from junto.knowledge.formats.parser import DocumentParser
from junto.knowledge.formats.text import DocumentText, UnreadableFileError
from junto.knowledge.formats.worker_main import handle_request
from tests.knowledge.sample_files import (
    CONTAINER,
    build_docx,
    build_epub,
    build_pdf,
    build_pdf_from_objects,
    build_zip,
    replace_part,
)

BILLION_LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + ' <!ENTITY f SYSTEM "file:///etc/passwd">]>'
)
WORD_NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
PASSWORD_TRAILER = (
    f"/Encrypt << /Filter /Standard /V 1 /R 2 /O <{'41' * 32}> /U <{'42' * 32}> /P -4 >> "
    "/ID [<00> <00>]"
)
ENCRYPTION = (
    '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<CipherReference URI="OEBPS/a.xhtml"/></encryption>'
)


def overwrite_headers(archive: bytes, at_local: int, at_central: int, value: bytes) -> bytes:
    """Return an archive with `value` written into the headers of all its files."""
    changed = bytearray(archive)
    for signature, offset in ((b"PK\x03\x04", at_local), (b"PK\x01\x02", at_central)):
        start = archive.find(signature)
        while start >= 0:
            changed[start + offset : start + offset + len(value)] = value
            start = archive.find(signature, start + 1)
    return bytes(changed)


def claim_size(archive: bytes, size: int) -> bytes:
    """Return an archive that claims this size for each of its files."""
    return overwrite_headers(archive, 22, 24, struct.pack("<I", size))


def build_understated_docx() -> bytes:
    """Return a large document that claims to be small, with a checksum to match."""
    archive = build_zip({"word/document.xml": b"\0" * 50_000_000})
    return overwrite_headers(
        claim_size(archive, 100), 14, 16, struct.pack("<I", zlib.crc32(b"\0" * 100))
    )


RANDOM_BYTES = random.Random(1).randbytes(10_000)  # noqa: S311 - the same each time
REFUSED_FILES: dict[str, tuple[str, bytes, str]] = {
    "empty": ("a.pdf", b"", "not a PDF, though it is called one"),
    "image": ("a.docx", b"\x89PNG", "not a DOCX, though it is called one"),
    "old word": ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "encrypted, or of an older Word"),
    "pdf header only": ("a.pdf", b"%PDF-1.7\n", "a broken PDF"),
    "pdf of random bytes": ("a.pdf", b"%PDF-1.7\n" + RANDOM_BYTES, "a broken PDF"),
    "truncated pdf": ("a.pdf", build_pdf(["x"])[:200], "a broken PDF"),
    "pdf with a password": (
        "a.pdf",
        build_pdf_from_objects(
            ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Kids [] >>"], trailer=PASSWORD_TRAILER
        ),
        "encrypted",
    ),
    "scanned pdf": ("a.pdf", build_pdf([], []), "has no text, only pictures"),
    "not an archive": ("a.docx", b"PK\x03\x04 and so on", "broken: it cannot be unpacked"),
    "another archive": ("a.docx", build_zip({"x": "y"}), "a broken DOCX: no document is in it"),
    "claims to unpack to gigabytes": (
        "a.docx",
        claim_size(build_zip({"word/document.xml": "x", "y": "y", "z": "z"}), 0xFFFFFFF0),
        "unpacks to more than 64 MB",
    ),
    "highly compressed": (
        "a.epub", build_zip({"x": b"\0" * 20_000_000}), "unpacks to more than 100 times its size",
    ),
    "many files": (
        "a.epub",
        build_zip({str(number): "" for number in range(10_001)}),
        "holds more than 10,000",
    ),
    "encrypted archive": (
        "a.docx", overwrite_headers(build_docx(), 6, 8, b"\x01\x00"), "encrypted",
    ),
    "unusual compression": (
        "a.docx",
        build_zip({"word/document.xml": "x"}, zipfile.ZIP_LZMA),
        "packed in an unusual way",
    ),
    "larger than it claims": ("a.docx", build_understated_docx(), "a broken DOCX"),
    "epub without a container": ("a.epub", build_zip({"x": "y"}), "a broken EPUB: its chapters"),
    "epub with an empty container": (
        "a.epub", build_zip({"META-INF/container.xml": "<x/>"}), "a broken EPUB: its chapters",
    ),
    "epub with a broken package": (
        "a.epub",
        build_zip({"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": "<x"}),
        "a broken EPUB: its chapters",
    ),
    "epub without chapters": ("a.epub", build_epub({}), "has no text, only pictures"),
    "encrypted epub": (
        "a.epub", build_epub({"a": "x"}, **{"META-INF_encryption.xml": ENCRYPTION}), "encrypted",
    ),
    "deep json": ("a.json", b"[" * 1_000_000, "has more than 100 levels"),
    "json a little too deep": ("a.json", b"[" * 102 + b"]" * 102, "has more than 100 levels"),
    "deep jsonl": ("a.jsonl", b"1\n" + b'{"a":' * 100_000, "has more than 100 levels"),
    "not a notebook": ("a.ipynb", b"[]", "not a notebook, though it is called one"),
    "broken notebook": ("a.ipynb", b"{", "not a notebook, though it is called one"),
    "csv that expands": (
        "a.csv", b"%s,b\n" % (b"x" * 100) + b"1,2\n" * 200_000, "holds more than 16 million",
    ),
    "long page": ("a.html", b"x" * 16_000_001, "holds more than 16 million characters"),
    "null bytes": ("a.txt", b"text\0text", "a binary file"),
    "control characters": ("a", b"\x01\x02\x03 a word", "a binary file"),
    "binary": ("a.md", RANDOM_BYTES, "a binary file"),
    "binary page": ("a.html", RANDOM_BYTES, "a binary file"),
    "unknown archive": ("a.zip", build_zip({"x": "y" * 100}), "a binary file"),
    "billion laughs in docx": (
        "a.docx",
        replace_part(
            build_docx(),
            f"{BILLION_LAUGHS}<w:document {WORD_NAMESPACE}><w:body><w:p><w:r><w:t>&i;&f;</w:t>"
            "<w:t>x</w:t></w:r></w:p></w:body></w:document>",
        ),
        "a broken DOCX",
    ),
}  # fmt: skip
READABLE_FILES: dict[str, tuple[str, bytes, str]] = {
    "deep page": ("a.html", b"<div>" * 100_000 + b"x", "x"),
    "lone surrogate in json": (
        "a.json", b'["a\\ud800b", "\\ud83d\\ude00"]', "- a\ufffdb\n- \U0001f600",
    ),
    "lone surrogate in text": ("a.txt", b"a\xed\xa0\x80b", "a"),
    "null in json": ("a.json", b'"a\\u0000b"', "a\ufffdb"),
    "long number": ("a.json", b"1" * 100_000, "1" * 100_000),
    "long character reference": ("a.html", b"&#" + b"1" * 100_000 + b";", "\ufffd"),
    "open quote": ("a.csv", b'a,b\n"' + b"x" * 200_000, "a: xxx"),
    "quotes": ("a.csv", b",'\"" * 1000, ""),
    "billion laughs in epub": (
        "a.epub", build_epub({"a": f"{BILLION_LAUGHS}<p>&i;&f; x</p>"}, "&lt;&amp;"), "&i;&f; x",
    ),
    "cyclic page tree": (
        "a.pdf", build_pdf(["x"]).replace(b"/Kids [4 0 R]", b"/Kids [4 0 R 2 0 R]"), "x",
    ),
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def parser() -> AsyncIterator[DocumentParser]:
    async with DocumentParser(timeout=20) as parser:
        yield parser


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REFUSED_FILES)
async def test_a_hostile_file_is_refused_with_one_line(parser: DocumentParser, name: str) -> None:
    file, content, problem = REFUSED_FILES[name]

    with pytest.raises(UnreadableFileError) as caught:
        await parser.parse(file, content)

    assert str(caught.value).startswith(problem)
    assert "\n" not in str(caught.value)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", READABLE_FILES)
async def test_an_unusual_file_still_gives_its_text(parser: DocumentParser, name: str) -> None:
    file, content, text = READABLE_FILES[name]

    document = await parser.parse(file, content)

    assert text in document.text
    assert "root:" not in document.text
    assert len(document.text) <= 4 * len(content)
    document.text.encode()  # raises if there is a lone surrogate


@pytest.mark.parametrize("name", [*REFUSED_FILES, *READABLE_FILES])
def test_the_worker_answers_every_request(name: str) -> None:
    file, content, expected = (REFUSED_FILES | READABLE_FILES)[name]
    try:
        file_format = detect_format(file, content)
    except UnreadableFileError:
        return  # refused before it reaches the worker
    if file_format.parser is None or expected == "a binary file":
        return

    header, body = handle_request({"reader": file_format.parser}, content)

    assert expected in str(header.get("problem", body.decode().replace("\0", "\ufffd")))


def mutate(content: bytes, rng: random.Random) -> bytes:
    """Return a file with some of its bytes changed, doubled or removed."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 20)):
        start, size = rng.randrange(len(data) + 1), rng.choice((1, 1, 2, 8, 64))
        piece = rng.choice(
            (b"", rng.randbytes(size), data[start : start + size] * 2, b"\xff" * size)
        )
        data[start : start + size] = piece
    return bytes(data)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pdf", build_pdf(["some", "lines"], ["and", "more"], title="of it")),
        ("a.docx", build_docx()),
        (
            "a.docx",
            build_zip({"word/document.xml": "<w:document/>", "[Content_Types].xml": "<x/>"}),
        ),
        ("a.epub", build_epub({"a": "<p>x</p>"})),
        ("a.html", b"<title>t</title><p class='x'>a &amp; b</p><pre>c</pre><ul><li>d</ul>" * 3),
        ("a.ipynb", b'{"cells": [{"cell_type": "code", "source": ["x", "y"]}]}'),
        ("a.csv", b'a,b,"c"\n1,2,"3\n4"\n'),
    ],
)
async def test_a_mutated_file_is_parsed_or_refused(
    parser: DocumentParser, name: str, content: bytes
) -> None:
    rng = random.Random(name)  # noqa: S311 - the same each time

    for _ in range(100):
        with contextlib.suppress(UnreadableFileError):
            assert "\0" not in (await parser.parse(name, mutate(content, rng))).text


@given(st.binary(max_size=300))
def test_any_bytes_are_parsed_or_refused(content: bytes) -> None:
    async def parse() -> DocumentText | None:
        try:
            return await DocumentParser().parse(
                "a", content.replace(b"\xff", b"e").decode("cp437").encode()
            )
        except UnreadableFileError:
            return None

    document = asyncio.run(parse())

    assert document is None or "\0" not in document.text
