"""Files of every format as text."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from junto.domain.errors import CancelledCallError
from junto.knowledge.chunking import Shape, chunks
from junto.knowledge.formats.child import answered
from junto.knowledge.formats.kinds import kind_of
from junto.knowledge.formats.readable import Readable
from junto.knowledge.formats.service import Formats
from tests.knowledge.documents import epub, pdf, with_part, word

NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "source": ["# Study\n", "Words."]},
            {"cell_type": "code", "source": "# no heading\nx = 1", "outputs": [{"text": "no"}]},
            {"cell_type": "code", "source": []},
        ]
    }
)
MARKDOWN, PLAIN, CODE = Shape.MARKDOWN, Shape.PLAIN, Shape.CODE
PARSED: dict[str, tuple[bytes, Readable]] = {
    "page.html": (
        b"<html><head><title>A &amp;\nB</title></head><h2>Head</h2><p>Some <i>words</i></p>",
        Readable("## Head\n\nSome words", "html", MARKDOWN, "A & B"),
    ),
    "untitled.htm": (b"<h1>Only</h1>x", Readable("# Only\n\nx", "html", MARKDOWN, "Only")),
    "old.html": (
        "<meta charset=windows-1251><p>Привет".encode("cp1251"),
        Readable("Привет", "html", MARKDOWN),
    ),
    "one.pdf": (pdf(["Hello", "world"]), Readable("Hello\nworld", "pdf", MARKDOWN)),
    "two.pdf": (
        pdf(["# Not a heading", "exam-", "ple"], ["Second"], title="Paper"),
        Readable(
            "# Page 1\n\n\\# Not a heading\nexample\n\n# Page 2\n\nSecond", "pdf", MARKDOWN, "Paper"
        ),
    ),
    "plan.docx": (
        word(),
        Readable(
            "# Our plan\n\n# First\n\n\\# Said\tin passing\n\n- an item\n\nA | B\n | D\n\n"
            "## Deep\n\nThe end.",
            "docx",
            MARKDOWN,
            "The Plan",
        ),
    ),
    "book.epub": (
        epub({"one": "<h1>One</h1><p>It began.", "two": "<h1>Two</h1><p>It ended."}, "A Tale"),
        Readable("# One\n\nIt began.\n\n# Two\n\nIt ended.", "epub", MARKDOWN, "A Tale"),
    ),
    "people.csv": (
        b'name,age,note\nAnn,31,"said\n""hi"""\nBob,,\n',
        Readable('name: Ann; age: 31; note: said "hi"\nname: Bob', "csv", PLAIN),
    ),
    "semicolons.csv": (
        b"a;b\nx;1,5\ny;2,5\n",
        Readable("a: x; b: 1,5\na: y; b: 2,5", "csv", PLAIN),
    ),
    "numbers.csv": (b"1,2\n3,4\n", Readable("1 | 2\n3 | 4", "csv", PLAIN)),
    "names.csv": (b"a,b\n", Readable("a; b", "csv", PLAIN)),
    "empty.csv": (b"", Readable("", "csv", PLAIN)),
    "tabs.tsv": (b"a\tb\nx, y\tz\tmore\n", Readable("a: x, y; b: z; more", "csv", PLAIN)),
    "data.json": (
        b'{"a": 1.50, "b": [true, null, {"c": "d"}], "e": {}, "f": {"g": 12345678901234567890}}',
        Readable(
            "a: 1.50\nb:\n  - true\n  - null\n  -\n    c: d\ne:\n\nf:\n  g: 12345678901234567890",
            "json",
            PLAIN,
        ),
    ),
    "word.json": (b'"just this"', Readable("just this", "json", PLAIN)),
    "commented.json": (b'{// so\n"a": 1}', Readable('{// so\n"a": 1}', "json", PLAIN)),
    "log.jsonl": (
        b'{"a": 1}\n\nnot json\n[2]\n',
        Readable("a: 1\n\nnot json\n\n- 2", "json", PLAIN),
    ),
    "study.ipynb": (
        NOTEBOOK.encode(),
        Readable("# Study\nWords.\n\n```\n# no heading\nx = 1\n```", "code", MARKDOWN, "Study"),
    ),
}
PLAINLY: dict[str, tuple[bytes, Readable]] = {
    "README.md": (
        b"```\n# no\n```\n# Title  #\r\ntext\r",
        Readable("```\n# no\n```\n# Title  #\ntext\n", "markdown", MARKDOWN, "Title"),
    ),
    "front.md": (
        b"---\nlayout: x\ntitle: 'In front'\n---\n# Below",
        Readable(
            "---\nlayout: x\ntitle: 'In front'\n---\n# Below", "markdown", MARKDOWN, "In front"
        ),
    ),
    "under.markdown": (
        b"Title\n=====\n",
        Readable("Title\n=====\n", "markdown", MARKDOWN, "Title"),
    ),
    "notes.txt": (b"# so\n", Readable("# so\n", "text", PLAIN)),
    "src/main.PY": (b"x = 1", Readable("x = 1", "code", CODE)),
    "a/Makefile": (b"all:", Readable("all:", "code", CODE)),
    "c:\\dir.d\\LICENSE": (b"Free", Readable("Free", "text", PLAIN)),
    "odd\nname.\nmd": (b"x", Readable("x", "text", PLAIN)),
    "": (b"", Readable("", "text", PLAIN)),
    "late.log": (b"x" * 9000 + b"\0y", Readable("x" * 9000 + "\ufffdy", "text", PLAIN)),
}


@pytest.fixture
async def formats() -> AsyncIterator[Formats]:
    async with Formats() as formats:
        yield formats


async def test_every_format_gives_its_text_its_shape_and_its_title(formats: Formats) -> None:
    for name, (content, expected) in {**PARSED, **PLAINLY}.items():
        assert await formats.read(name, content) == expected, name


@pytest.mark.parametrize("name", PARSED)
def test_the_child_answers_with_text_and_title(name: str) -> None:
    content, expected = PARSED[name]

    header, body = answered({"reader": kind_of(name, content).reader}, content)

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
async def test_a_type_that_says_something_says_more_than_a_name(
    formats: Formats, name: str, content_type: str, kind: str
) -> None:
    assert (await formats.read(name, b"1", content_type)).kind == kind


async def test_a_format_is_told_by_the_bytes_of_a_file_without_a_name(formats: Formats) -> None:
    found = [
        (await formats.read("download", content)).kind
        for content in (pdf(["x"]), word(), epub({"a": "x"}))
    ]

    assert found == ["pdf", "docx", "epub"]


CHINESE = "歡迎使用這份文件\uff0c這是一份測試\uff0c內容包含許多中文字。請仔細閱讀。"
SIMPLIFIED = "欢迎使用这份文件\uff0c这是一份测试\uff0c内容包含许多汉字。请仔细阅读。"
JAPANESE = "これは日本語のテキストです。文字コードの判定を試験しています。"
KOREAN = "이것은 한국어 텍스트입니다. 문자 인코딩을 확인하는 시험입니다."
RUSSIAN = "Это русский текст, который записан в старой кодировке."
FRENCH = "Les élèves français étaient très fâchés à l'école où ils mangeaient."


@pytest.mark.parametrize(
    ("text", "alphabet"),
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
async def test_a_text_is_read_in_the_alphabet_it_is_written_in(
    formats: Formats, text: str, alphabet: str
) -> None:
    assert (await formats.read("a.txt", text.encode(alphabet))).text == text


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
def test_a_part_of_a_file_tells_its_alphabet(content: bytes) -> None:
    assert answered({"reader": "guess"}, content) == ({"codec": "cp1251"}, b"")


async def test_letters_far_into_a_file_tell_its_alphabet(formats: Formats) -> None:
    text = "plain words\n" * 20_000 + f"{RUSSIAN}\n" * 5000

    assert (await formats.read("a.log", text.encode("cp1251"))).text == text


async def test_a_named_alphabet_is_believed_unless_the_bytes_know_better(formats: Formats) -> None:
    async def read(content: bytes, charset: str) -> str:
        return (await formats.read("a", content, f"text/plain; charset={charset}")).text

    assert await read("žluť".encode("iso8859-2"), "iso-8859-2") == "žluť"
    assert await read("naïve".encode(), "latin-1") == "naïve"
    assert await read(JAPANESE.encode("iso2022_jp"), "iso-2022-jp") == JAPANESE
    assert await read(b"a\x80b", "utf-7") == "a€b"


async def test_pages_of_a_paper_are_what_its_passages_are_cited_by(formats: Formats) -> None:
    paper = await formats.read("a.pdf", pdf(["One."], ["Two."], ["Three."]))

    assert [chunk.path for chunk in chunks(paper.text, paper.shape)] == [
        ("Page 1",), ("Page 2",), ("Page 3",),
    ]  # fmt: skip


async def test_what_was_deleted_in_a_word_file_is_not_read_and_what_was_added_is(
    formats: Formats,
) -> None:
    ns = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    body = (
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>In a field</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>new</w:t><w:br/><w:t>line</w:t></w:r></w:ins></w:p>"
    )

    read = await formats.read(
        "a.docx", with_part(word(), f"<w:document {ns}><w:body>{body}</w:body></w:document>")
    )

    assert read.text == "In a field\n\nnew\nline"


async def test_files_are_read_by_many_at_once(formats: Formats) -> None:
    read = await asyncio.gather(
        *(formats.read("a.html", f"<p>{number}</p>".encode()) for number in range(100))
    )

    assert [each.text for each in read] == [str(number) for number in range(100)]


async def test_nothing_is_read_once_it_is_closed(formats: Formats) -> None:
    async with formats:
        pass

    with pytest.raises(CancelledCallError):
        await formats.read("a.html", b"x")
    assert (await formats.read("a.txt", b"x")).text == "x"


def test_without_its_library_a_format_says_what_to_install() -> None:
    program = (
        "import sys\n"
        "from junto.knowledge.formats.child import answered\n"
        "from tests.knowledge.documents import epub\n"
        "missing = 'pypdfium2', 'docx', 'lxml', 'charset_normalizer'\n"
        "sys.modules.update(dict.fromkeys(missing))\n"
        "for reader, content in ('pdf', b''), ('docx', b''), ('epub', epub({'a': 'x'})):\n"
        "    print(answered({'reader': reader}, content)[0]['problem'])\n"
        "print(answered({'reader': 'guess'}, b'\\xff')[0]['codec'])"
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


def test_neither_the_child_nor_its_starter_needs_a_library_before_a_file_does() -> None:
    program = "import sys, junto.knowledge.formats.{0}; print(*sys.modules, sep='\\n')"

    loaded = {
        module: subprocess.run(
            [sys.executable, "-c", program.format(module)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for module in ("child", "service")
    }

    assert "asyncio" not in loaded["child"]
    for modules in loaded.values():
        assert not {"pypdfium2", "docx", "lxml", "charset_normalizer", "csv"} & {*modules}
