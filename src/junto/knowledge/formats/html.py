"""The text of books (EPUB), chapter by chapter."""

import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from junto.domain.pages import readable
from junto.knowledge.formats.archives import opened, unpacked
from junto.knowledge.formats.decoding import decoded_page
from junto.knowledge.formats.readable import UnreadableError
from junto.knowledge.formats.room import Parsed, Room

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_BROKEN = "a broken EPUB: its chapters are not where it says"


def read(content: bytes, _codec: str | None) -> Parsed:
    """Return the text of a book.

    Raises:
        UnreadableError: it is encrypted, broken, or unpacks to too much.
    """
    book = _Book(opened(content))
    [*roots] = book.parsed(_CONTAINER).iterfind(".//{*}rootfile")
    if not roots:
        raise UnreadableError(_BROKEN)
    place = roots[0].get("full-path", "")
    package, encrypted = book.parsed(place), set(book.encrypted())
    room = Room()
    for name in _spine(package, posixpath.dirname(place)):
        if name in encrypted:
            raise UnreadableError("encrypted")
        if name in book.files:
            room.add(readable(decoded_page(book.bytes(name), None)))
    if not (text := room.text("\n\n").strip()):
        raise UnreadableError("has no text, only pictures")
    return Parsed(text, package.findtext(".//{http://purl.org/dc/elements/1.1/}title"))


class _Book:
    """The files of a book, by name."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.files = {file.filename: file for file in archive.infolist()}

    def bytes(self, name: str) -> bytes:
        if name not in self.files:
            raise UnreadableError(_BROKEN)
        return unpacked(self._archive, self.files[name])

    def parsed(self, name: str) -> Any:
        from lxml import etree

        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
        )
        try:
            return etree.fromstring(self.bytes(name), parser)
        except etree.XMLSyntaxError:
            raise UnreadableError(_BROKEN) from None

    def encrypted(self) -> Iterator[str]:
        """Yield the names of files that need a key; of fonts, that is usual."""
        if _ENCRYPTION in self.files:
            for reference in self.parsed(_ENCRYPTION).iterfind(".//{*}CipherReference"):
                yield unquote(reference.get("URI", ""))


def _spine(package: Any, folder: str) -> Iterator[str]:
    """Yield the names of the chapters in their order."""
    places = {item.get("id"): item.get("href", "") for item in package.iterfind(".//{*}item")}
    seen = set()
    for reference in package.iterfind(".//{*}itemref"):
        place = unquote(places.get(reference.get("idref"), "").partition("#")[0])
        name = posixpath.normpath(posixpath.join(folder, place))
        if place and name not in seen:  # twice would be a way to make much of little
            seen.add(name)
            yield name
