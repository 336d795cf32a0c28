"""Detection of file formats by content type, name and content."""

from dataclasses import dataclass

from junto.knowledge.chunking import TextStructure
from junto.knowledge.formats.text import UnreadableFileError


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A file format: its name, the structure of its text, and its parser."""

    name: str
    structure: TextStructure
    parser: str | None = None  # in the worker process; None if the content is the text itself
    binary_name: str | None = None  # with an article, for messages; None for text formats


MARKDOWN = FileFormat("markdown", TextStructure.MARKDOWN)
TEXT = FileFormat("text", TextStructure.PLAIN)
CODE = FileFormat("code", TextStructure.CODE)
HTML = FileFormat("html", TextStructure.MARKDOWN, "html")
CSV = FileFormat("csv", TextStructure.PLAIN, "csv")
TSV = FileFormat("csv", TextStructure.PLAIN, "tsv")
JSON = FileFormat("json", TextStructure.PLAIN, "json")
JSON_LINES = FileFormat("json", TextStructure.PLAIN, "jsonl")
NOTEBOOK = FileFormat("code", TextStructure.MARKDOWN, "notebook")
PDF = FileFormat("pdf", TextStructure.MARKDOWN, "pdf", "a PDF")
DOCX = FileFormat("docx", TextStructure.MARKDOWN, "docx", "a DOCX")
EPUB = FileFormat("epub", TextStructure.MARKDOWN, "epub", "an EPUB")

_CODE_SUFFIXES = """
ada adb ads asm awk bash bat bzl c cc cfc cjs cl clj cljc cljs cls cmake cmd cob coffee cpp cr cs
css cts cu cue cxx d dart dockerfile el elm erb erl ex exs f f03 f08 f77 f90 f95 fish fs fsi fsx
gemspec glsl go gradle graphql groovy gyp h haml hbs hcl hh hlsl hpp hrl hs hxx idl ino java jl js
jsx jsm kt kts less lisp lua m make mk mjs ml mli mm mts nim nix pas php pl pm pp proto ps1 psm1
purs py pyi pyx pxd r rake rb re rei rkt rs s sass sbt scala scm scss sh sol sql sv svelte svh
swift tcl tf tfvars thrift ts tsx v vala vb vhd vhdl vim vue wat wgsl zig zsh
"""
_TEXT_SUFFIXES = """
adoc asc asciidoc bib cfg cnf conf desktop diff env ini lock log nfo org patch po pot properties
rst service srt tex text toml txt vtt xml xsd xsl xslt yaml yml
"""
_BY_SUFFIX = {
    **dict.fromkeys(_TEXT_SUFFIXES.split(), TEXT),
    **dict.fromkeys(_CODE_SUFFIXES.split(), CODE),
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
_DOCX_CONTENT_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_BY_CONTENT_TYPE = {
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
    _DOCX_CONTENT_TYPE: DOCX,
}
# A PDF may have some other bytes before its header.
_PDF_MAGIC, _PDF_MAGIC_WITHIN_BYTES = b"%PDF-", 1024
_ZIP_MAGICS, _OLE_MAGIC = (b"PK\x03\x04", b"PK\x05\x06"), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# An EPUB starts with an uncompressed file of this name and content, after a 30-byte header.
_EPUB_MAGIC, _EPUB_MAGIC_OFFSET = b"mimetypeapplication/epub+zip", 30
_DOCX_PART = b"word/document.xml"


def detect_format(name: str, content: bytes, content_type: str | None = None) -> FileFormat:
    """Return the format of a file.

    Raises:
        UnreadableFileError: the content does not match the file's name or content type.
    """
    file_format = _match_content_type(content_type) or _match_name(name)
    if file_format is None:
        return _match_content(content) or TEXT
    if file_format.binary_name and not _has_signature(file_format, content):
        raise UnreadableFileError(_describe_mismatch(file_format, content))
    return file_format


def _match_content_type(content_type: str | None) -> FileFormat | None:
    if not content_type:
        return None
    media_type = content_type.partition(";")[0].strip().lower()
    return _BY_CONTENT_TYPE.get(media_type) or (JSON if media_type.endswith("+json") else None)


def _match_name(name: str) -> FileFormat | None:
    file_name = name.replace("\\", "/").rpartition("/")[2].lower()
    _, dot, suffix = file_name.rpartition(".")
    return (_BY_SUFFIX.get(suffix) if dot else None) or _BY_NAME.get(file_name)


def _match_content(content: bytes) -> FileFormat | None:
    """Return the format that the signature of the content reveals, if any."""
    if content.startswith(_PDF_MAGIC):
        return PDF
    if content.startswith(_ZIP_MAGICS):
        if content.startswith(_EPUB_MAGIC, _EPUB_MAGIC_OFFSET):
            return EPUB
        return DOCX if _DOCX_PART in content else None
    return None


def _has_signature(file_format: FileFormat, content: bytes) -> bool:
    return (
        _PDF_MAGIC in content[:_PDF_MAGIC_WITHIN_BYTES]
        if file_format is PDF
        else content.startswith(_ZIP_MAGICS)
    )


def _describe_mismatch(file_format: FileFormat, content: bytes) -> str:
    if file_format is DOCX and content.startswith(_OLE_MAGIC):
        return "encrypted, or of an older Word; save it as DOCX without a password"
    return f"not {file_format.binary_name}, though it is called one"
