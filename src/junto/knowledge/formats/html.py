"""Text of web pages and EPUB books."""

import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from junto.knowledge.formats.archives import open_archive, read_member
from junto.knowledge.formats.decoder import decode_html
from junto.knowledge.formats.text import (
    ParserOutput,
    TextBuilder,
    UnreadableFileError,
    find_heading,
)
from junto.text.html_text import find_title, html_to_text

_CONTAINER_PATH, _ENCRYPTION_PATH = "META-INF/container.xml", "META-INF/encryption.xml"
_BROKEN_EPUB = "a broken EPUB: its chapters are not where it says"


def parse_html(content: bytes, codec: str | None) -> ParserOutput:
    """Return the text of a web page.

    Raises:
        UnreadableFileError: the text is too long.
    """
    page = decode_html(content, codec)
    builder = TextBuilder()
    builder.add(html_to_text(page))
    text = builder.join("")
    return ParserOutput(text, find_title(page) or find_heading(text))


def parse_epub(content: bytes, _codec: str | None) -> ParserOutput:
    """Return the text of an EPUB book.

    Raises:
        UnreadableFileError: the book is encrypted, broken, or unpacks to too much.
    """
    book = _EpubArchive(open_archive(content))
    [*root_files] = book.parse_xml(_CONTAINER_PATH).iterfind(".//{*}rootfile")
    if not root_files:
        raise UnreadableFileError(_BROKEN_EPUB)
    package_path = root_files[0].get("full-path", "")
    package, encrypted = book.parse_xml(package_path), set(book.iter_encrypted())
    builder = TextBuilder()
    for name in _iter_chapters(package, posixpath.dirname(package_path)):
        if name in encrypted:
            raise UnreadableFileError("encrypted")
        if name in book.files:
            builder.add(html_to_text(decode_html(book.read_file(name), None)))
    if not (text := builder.join("\n\n").strip()):
        raise UnreadableFileError("has no text, only pictures")
    return ParserOutput(text, package.findtext(".//{http://purl.org/dc/elements/1.1/}title"))


class _EpubArchive:
    """The files of an EPUB book, by name."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.files = {file.filename: file for file in archive.infolist()}

    def read_file(self, name: str) -> bytes:
        if name not in self.files:
            raise UnreadableFileError(_BROKEN_EPUB)
        return read_member(self._archive, self.files[name])

    def parse_xml(self, name: str) -> Any:
        from lxml import etree

        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
        )
        try:
            return etree.fromstring(self.read_file(name), parser)
        except etree.XMLSyntaxError:
            raise UnreadableFileError(_BROKEN_EPUB) from None

    def iter_encrypted(self) -> Iterator[str]:
        """Yield the names of encrypted files; encrypted fonts are common."""
        if _ENCRYPTION_PATH in self.files:
            for reference in self.parse_xml(_ENCRYPTION_PATH).iterfind(".//{*}CipherReference"):
                yield unquote(reference.get("URI", ""))


def _iter_chapters(package: Any, directory: str) -> Iterator[str]:
    """Yield the names of the chapters in reading order."""
    hrefs = {item.get("id"): item.get("href", "") for item in package.iterfind(".//{*}item")}
    seen = set()
    for reference in package.iterfind(".//{*}itemref"):
        href = unquote(hrefs.get(reference.get("idref"), "").partition("#")[0])
        name = posixpath.normpath(posixpath.join(directory, href))
        if (
            href and name not in seen
        ):  # repeated chapters could make a small file expand without limit
            seen.add(name)
            yield name
