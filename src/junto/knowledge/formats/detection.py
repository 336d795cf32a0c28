"""Which format a file has: by what a server says, by its name, by how it begins."""

from dataclasses import dataclass

from junto.knowledge.chunking import Shape
from junto.knowledge.formats.readable import UnreadableError


@dataclass(frozen=True, slots=True)
class Kind:
    """A format: what it is called, how its text is built, and who reads it."""

    name: str
    shape: Shape
    reader: str | None = None  # a reader of the child's; without one, a file is its text
    packed: str | None = None  # what people call it, if its bytes are no text


MARKDOWN = Kind("markdown", Shape.MARKDOWN)
TEXT = Kind("text", Shape.PLAIN)
CODE = Kind("code", Shape.CODE)
HTML = Kind("html", Shape.MARKDOWN, "html")
CSV = Kind("csv", Shape.PLAIN, "csv")
TSV = Kind("csv", Shape.PLAIN, "tsv")
JSON = Kind("json", Shape.PLAIN, "json")
JSON_LINES = Kind("json", Shape.PLAIN, "jsonl")
NOTEBOOK = Kind("code", Shape.MARKDOWN, "notebook")
PDF = Kind("pdf", Shape.MARKDOWN, "pdf", "a PDF")
DOCX = Kind("docx", Shape.MARKDOWN, "docx", "a DOCX")
EPUB = Kind("epub", Shape.MARKDOWN, "epub", "an EPUB")

_CODE = """
ada adb ads asm awk bash bat bzl c cc cfc cjs cl clj cljc cljs cls cmake cmd cob coffee cpp cr cs
css cts cu cue cxx d dart dockerfile el elm erb erl ex exs f f03 f08 f77 f90 f95 fish fs fsi fsx
gemspec glsl go gradle graphql groovy gyp h haml hbs hcl hh hlsl hpp hrl hs hxx idl ino java jl js
jsx jsm kt kts less lisp lua m make mk mjs ml mli mm mts nim nix pas php pl pm pp proto ps1 psm1
purs py pyi pyx pxd r rake rb re rei rkt rs s sass sbt scala scm scss sh sol sql sv svelte svh
swift tcl tf tfvars thrift ts tsx v vala vb vhd vhdl vim vue wat wgsl zig zsh
"""
_TEXT = """
adoc asc asciidoc bib cfg cnf conf desktop diff env ini lock log nfo org patch po pot properties
rst service srt tex text toml txt vtt xml xsd xsl xslt yaml yml
"""
_BY_SUFFIX = {
    **dict.fromkeys(_TEXT.split(), TEXT),
    **dict.fromkeys(_CODE.split(), CODE),
    **dict.fromkeys(("md", "markdown", "mdown", "mdx", "mkd", "qmd", "rmd"), MARKDOWN),
    **dict.fromkeys(("html", "htm", "xhtml", "xht"), HTML),
    **dict.fromkeys(("json", "geojson", "jsonc", "json5", "webmanifest"), JSON),
    **dict.fromkeys(("jsonl", "ndjson"), JSON_LINES),
    **dict.fromkeys(("tsv", "tab"), TSV),
    "csv": CSV,
    "ipynb": NOTEBOOK,
    "pdf": PDF,
    "docx": DOCX,
    "epub": EPUB,
}
_BY_NAME = dict.fromkeys(
    ("makefile", "dockerfile", "containerfile", "rakefile", "gemfile", "jenkinsfile", "justfile"),
    CODE,
)
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_BY_TYPE = {
    "text/html": HTML,
    "application/xhtml+xml": HTML,
    "text/markdown": MARKDOWN,
    "text/csv": CSV,
    "text/tab-separated-values": TSV,
    "application/json": JSON,
    "application/x-ndjson": JSON_LINES,
    "application/jsonl": JSON_LINES,
    "application/pdf": PDF,
    "application/epub+zip": EPUB,
    _WORD: DOCX,
}
# A PDF may have a little of something else before it.
_PDF, _PDF_WITHIN = b"%PDF-", 1024
_ZIP, _OLD_OFFICE = (b"PK\x03\x04", b"PK\x05\x06"), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# An EPUB begins with a file of this name and content, not compressed; 30 bytes come before it.
_EPUB_START, _EPUB_AT = b"mimetypeapplication/epub+zip", 30
_DOCX_PART = b"word/document.xml"


def kind_of(name: str, content: bytes, content_type: str | None = None) -> Kind:
    """Return the format of a file.

    Raises:
        UnreadableError: it is not what its name or its type says.
    """
    named = _typed(content_type) or _named(name)
    if named is None:
        return _begun(content) or TEXT
    if named.packed and not _is(named, content):
        raise UnreadableError(_mistaken(named, content))
    return named


def _typed(content_type: str | None) -> Kind | None:
    if not content_type:
        return None
    bare = content_type.partition(";")[0].strip().lower()
    return _BY_TYPE.get(bare) or (JSON if bare.endswith("+json") else None)


def _named(name: str) -> Kind | None:
    last = name.replace("\\", "/").rpartition("/")[2].lower()
    _, dot, suffix = last.rpartition(".")
    return (_BY_SUFFIX.get(suffix) if dot else None) or _BY_NAME.get(last)


def _begun(content: bytes) -> Kind | None:
    """Return the format of a file whose bytes tell it."""
    if content.startswith(_PDF):
        return PDF
    if content.startswith(_ZIP):
        if content.startswith(_EPUB_START, _EPUB_AT):
            return EPUB
        return DOCX if _DOCX_PART in content else None
    return None


def _is(kind: Kind, content: bytes) -> bool:
    return _PDF in content[:_PDF_WITHIN] if kind is PDF else content.startswith(_ZIP)


def _mistaken(kind: Kind, content: bytes) -> str:
    if kind is DOCX and content.startswith(_OLD_OFFICE):
        return "encrypted, or of an older Word; save it as DOCX without a password"
    return f"not {kind.packed}, though it is called one"
