"""Files of every format are parsed into text."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from junto.domain.errors import CancelledCallError
from junto.knowledge.chunking import TextStructure, iter_chunks
from junto.knowledge.formats.detection import detect_format
from junto.knowledge.formats.parser import DocumentParser
from junto.knowledge.formats.text import DocumentText
from junto.knowledge.formats.worker_main import handle_request
from tests.knowledge.sample_files import build_docx, build_epub, build_pdf, replace_part

NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "source": ["# Study\n", "Words."]},
            {"cell_type": "code", "source": "# no heading\nx = 1", "outputs": [{"text": "no"}]},
            {"cell_type": "code", "source": []},
        ]
    }
)
MARKDOWN, PLAIN, CODE = TextStructure.MARKDOWN, TextStructure.PLAIN, TextStructure.CODE
WORKER_FILES: dict[str, tuple[bytes, DocumentText]] = {
    "page.html": (
        b"<html><head><title>A &amp;\nB</title></head><h2>Head</h2><p>Some <i>words</i></p>",
        DocumentText("## Head\n\nSome words", "html", MARKDOWN, "A & B"),
    ),
    "untitled.htm": (b"<h1>Only</h1>x", DocumentText("# Only\n\nx", "html", MARKDOWN, "Only")),
    "old.html": (
        "<meta charset=windows-1251><p>Привет".encode("cp1251"),
        DocumentText("Привет", "html", MARKDOWN),
    ),
    "one.pdf": (build_pdf(["Hello", "world"]), DocumentText("Hello\nworld", "pdf", MARKDOWN)),
    "two.pdf": (
        build_pdf(["# Not a heading", "exam-", "ple"], ["Second"], title="Paper"),
        DocumentText(
            "# Page 1\n\n\\# Not a heading\nexample\n\n# Page 2\n\nSecond", "pdf", MARKDOWN, "Paper"
        ),
    ),
    "plan.docx": (
        build_docx(),
        DocumentText(
            "# Our plan\n\n# First\n\n\\# Said\tin passing\n\n- an item\n\nA | B\n | D\n\n"
            "## Deep\n\nThe end.",
            "docx",
            MARKDOWN,
            "The Plan",
        ),
    ),
    "book.epub": (
        build_epub(
            {"one": "<h1>One</h1><p>It began.", "two": "<h1>Two</h1><p>It ended."}, "A Tale"
        ),
        DocumentText("# One\n\nIt began.\n\n# Two\n\nIt ended.", "epub", MARKDOWN, "A Tale"),
    ),
    "people.csv": (
        b'name,age,note\nAnn,31,"said\n""hi"""\nBob,,\n',
        DocumentText('name: Ann; age: 31; note: said "hi"\nname: Bob', "csv", PLAIN),
    ),
    "semicolons.csv": (
        b"a;b\nx;1,5\ny;2,5\n",
        DocumentText("a: x; b: 1,5\na: y; b: 2,5", "csv", PLAIN),
    ),
    "numbers.csv": (b"1,2\n3,4\n", DocumentText("1 | 2\n3 | 4", "csv", PLAIN)),
    "names.csv": (b"a,b\n", DocumentText("a; b", "csv", PLAIN)),
    "empty.csv": (b"", DocumentText("", "csv", PLAIN)),
    "tabs.tsv": (b"a\tb\nx, y\tz\tmore\n", DocumentText("a: x, y; b: z; more", "csv", PLAIN)),
    "data.json": (
        b'{"a": 1.50, "b": [true, null, {"c": "d"}], "e": {}, "f": {"g": 12345678901234567890}}',
        DocumentText(
            "a: 1.50\nb:\n  - true\n  - null\n  -\n    c: d\ne:\n\nf:\n  g: 12345678901234567890",
            "json",
            PLAIN,
        ),
    ),
    "word.json": (b'"just this"', DocumentText("just this", "json", PLAIN)),
    "commented.json": (b'{// so\n"a": 1}', DocumentText('{// so\n"a": 1}', "json", PLAIN)),
    "log.jsonl": (
        b'{"a": 1}\n\nnot json\n[2]\n',
        DocumentText("a: 1\n\nnot json\n\n- 2", "json", PLAIN),
    ),
    "study.ipynb": (
        NOTEBOOK.encode(),
        DocumentText("# Study\nWords.\n\n```\n# no heading\nx = 1\n```", "code", MARKDOWN, "Study"),
    ),
}
PLAIN_FILES: dict[str, tuple[bytes, DocumentText]] = {
    "README.md": (
        b"```\n# no\n```\n# Title  #\r\ntext\r",
        DocumentText("```\n# no\n```\n# Title  #\ntext\n", "markdown", MARKDOWN, "Title"),
    ),
    "front.md": (
        b"---\nlayout: x\ntitle: 'In front'\n---\n# Below",
        DocumentText(
            "---\nlayout: x\ntitle: 'In front'\n---\n# Below", "markdown", MARKDOWN, "In front"
        ),
    ),
    "under.markdown": (
        b"Title\n=====\n",
        DocumentText("Title\n=====\n", "markdown", MARKDOWN, "Title"),
    ),
    "notes.txt": (b"# so\n", DocumentText("# so\n", "text", PLAIN)),
    "src/main.PY": (b"x = 1", DocumentText("x = 1", "code", CODE)),
    "a/Makefile": (b"all:", DocumentText("all:", "code", CODE)),
    "c:\\dir.d\\LICENSE": (b"Free", DocumentText("Free", "text", PLAIN)),
    "odd\nname.\nmd": (b"x", DocumentText("x", "text", PLAIN)),
    "": (b"", DocumentText("", "text", PLAIN)),
    "late.log": (b"x" * 9000 + b"\0y", DocumentText("x" * 9000 + "\ufffdy", "text", PLAIN)),
}


@pytest.fixture
async def parser() -> AsyncIterator[DocumentParser]:
    async with DocumentParser() as parser:
        yield parser


async def test_every_format_gives_text_structure_and_title(parser: DocumentParser) -> None:
    for name, (content, expected) in {**WORKER_FILES, **PLAIN_FILES}.items():
        assert await parser.parse(name, content) == expected, name


@pytest.mark.parametrize("name", WORKER_FILES)
def test_the_worker_answers_with_text_and_title(name: str) -> None:
    content, expected = WORKER_FILES[name]

    header, body = handle_request({"reader": detect_format(name, content).parser}, content)

    assert (body.decode(), header) == (expected.text, {"title": expected.title})


@pytest.mark.parametrize(
    ("name", "content_type", "kind"),
    [
        ("index.php", "text/html; charset=utf-8", "html"),
        ("data", "application/problem+json", "json"),
        ("main.py", "text/plain", "code"),
        ("unknown", "application/octet-stream", "text"),
        ("page.html", "TEXT/Markdown", "markdown"),
    ],
)
async def test_a_specific_content_type_takes_precedence_over_the_name(
    parser: DocumentParser, name: str, content_type: str, kind: str
) -> None:
    assert (await parser.parse(name, b"1", content_type)).kind == kind


async def test_the_format_of_a_file_without_an_extension_is_detected_from_its_bytes(
    parser: DocumentParser,
) -> None:
    kinds = [
        (await parser.parse("download", content)).kind
        for content in (build_pdf(["x"]), build_docx(), build_epub({"a": "x"}))
    ]

    assert kinds == ["pdf", "docx", "epub"]


CHINESE = "歡迎使用這份文件\uff0c這是一份測試\uff0c內容包含許多中文字。請仔細閱讀。"
SIMPLIFIED = "欢迎使用这份文件\uff0c这是一份测试\uff0c内容包含许多汉字。请仔细阅读。"
JAPANESE = "これは日本語のテキストです。文字コードの判定を試験しています。"
KOREAN = "이것은 한국어 텍스트입니다. 문자 인코딩을 확인하는 시험입니다."
RUSSIAN = "Это русский текст, который записан в старой кодировке."
FRENCH = "Les élèves français étaient très fâchés à l'école où ils mangeaient."


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (CHINESE, "big5"),
        (SIMPLIFIED, "gb18030"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (KOREAN, "euc_kr"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
        (FRENCH, "latin-1"),
        ("“Grüße”, sagte sie, schön", "cp1252"),
        (CHINESE, "utf-8-sig"),
        (CHINESE, "utf-16"),
        (CHINESE, "utf-32"),
        ("\U0001f600 " + KOREAN, "utf-16"),
    ],
)
async def test_the_encoding_of_a_text_is_detected(
    parser: DocumentParser, text: str, encoding: str
) -> None:
    assert (await parser.parse("a.txt", text.encode(encoding))).text == text


@pytest.mark.parametrize(
    "content",
    [
        RUSSIAN.encode("cp1251"),
        f"{RUSSIAN}\n".encode("cp1251") * 3000,
        f"{RUSSIAN} ".encode("cp1251") * 3000,
        RUSSIAN.replace(" ", "-").encode("cp1251") * 3000,
        b"words\n" * 100_000 + RUSSIAN.encode("cp1251"),
    ],
)
def test_the_encoding_is_guessed_from_part_of_a_file(content: bytes) -> None:
    assert handle_request({"reader": "guess"}, content) == ({"codec": "cp1251"}, b"")


async def test_the_encoding_is_detected_from_letters_far_into_a_file(
    parser: DocumentParser,
) -> None:
    text = "plain words\n" * 20_000 + f"{RUSSIAN}\n" * 5000

    assert (await parser.parse("a.log", text.encode("cp1251"))).text == text


async def test_a_declared_charset_is_used_unless_the_bytes_contradict_it(
    parser: DocumentParser,
) -> None:
    async def read(content: bytes, charset: str) -> str:
        return (await parser.parse("a", content, f"text/plain; charset={charset}")).text

    assert await read("žluť".encode("iso8859-2"), "iso-8859-2") == "žluť"
    assert await read("naïve".encode(), "latin-1") == "naïve"
    assert await read(JAPANESE.encode("iso2022_jp"), "iso-2022-jp") == JAPANESE
    assert await read(b"a\x80b", "utf-7") == "a€b"


async def test_the_chunks_of_a_pdf_have_its_pages_as_headings(parser: DocumentParser) -> None:
    document = await parser.parse("a.pdf", build_pdf(["One."], ["Two."], ["Three."]))

    assert [chunk.headings for chunk in iter_chunks(document.text, document.structure)] == [
        ("Page 1",), ("Page 2",), ("Page 3",),
    ]  # fmt: skip


async def test_tracked_changes_in_a_word_file_are_applied(
    parser: DocumentParser,
) -> None:
    ns = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    body = (
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>In a field</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>new</w:t><w:br/><w:t>line</w:t></w:r></w:ins></w:p>"
    )

    document = await parser.parse(
        "a.docx",
        replace_part(build_docx(), f"<w:document {ns}><w:body>{body}</w:body></w:document>"),
    )

    assert document.text == "In a field\n\nnew\nline"


async def test_many_files_are_parsed_concurrently(parser: DocumentParser) -> None:
    documents = await asyncio.gather(
        *(parser.parse("a.html", f"<p>{number}</p>".encode()) for number in range(100))
    )

    assert [document.text for document in documents] == [str(number) for number in range(100)]


async def test_a_closed_parser_parses_only_plain_text(parser: DocumentParser) -> None:
    async with parser:
        pass

    with pytest.raises(CancelledCallError):
        await parser.parse("a.html", b"x")
    assert (await parser.parse("a.txt", b"x")).text == "x"


def test_without_its_library_a_format_says_what_to_install() -> None:
    program = (
        "import sys\n"
        "from junto.knowledge.formats.worker_main import handle_request\n"
        "from tests.knowledge.sample_files import build_epub\n"
        "missing = 'pypdfium2', 'docx', 'lxml', 'charset_normalizer'\n"
        "sys.modules.update(dict.fromkeys(missing))\n"
        "for reader, content in ('pdf', b''), ('docx', b''), ('epub', build_epub({'a': 'x'})):\n"
        "    print(handle_request({'reader': reader}, content)[0]['problem'])\n"
        "print(handle_request({'reader': 'guess'}, b'\\xff')[0]['codec'])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )

    assert done.stdout.splitlines() == [
        *(f"{name} files need: pip install 'junto[documents]'" for name in ("PDF", "DOCX", "EPUB")),
        "cp1252",
    ]


def test_format_libraries_are_not_imported_before_a_file_needs_them() -> None:
    program = "import sys, junto.knowledge.formats.{0}; print(*sys.modules, sep='\\n')"

    loaded = {
        module: subprocess.run(
            [sys.executable, "-c", program.format(module)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for module in ("worker_main", "parser")
    }

    assert "asyncio" not in loaded["worker_main"]
    for modules in loaded.values():
        assert not {"pypdfium2", "docx", "lxml", "charset_normalizer", "csv"} & {*modules}
