"""Junto's own manual, which can be searched like any other document."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from junto.domain.documents import EVERYONE, DocumentStore, Entry, Source
from junto.knowledge.entries import document_id, own_entry

FOLDER = "junto://manual"
# Where the pages are while Junto is being worked on; an installed one has them in its package.
_SOURCES = Path(__file__).parents[3]


async def refreshed(store: DocumentStore) -> int:
    """Put the pages in that have changed, remove those that are gone; return how many changed."""
    known = {each.id: each for each in (await store.known(EVERYONE, FOLDER)).values()}
    entries = {entry.document.id: entry async for entry in pages()}
    changed = [
        entry
        for id_, entry in entries.items()
        if id_ not in known or known[id_].digest != entry.document.digest
    ]
    gone = [id_ for id_ in known if id_ not in entries]
    if changed:
        await store.keep(changed)
    if gone:
        await store.forget(EVERYONE, gone)
    return len(changed) + len(gone)


async def pages() -> AsyncIterator[Entry]:
    """Yield each page."""
    for name, page in sorted(_files(), key=lambda each: each[0]):
        text = page.read_text("utf-8")
        title = text.partition("\n")[0].lstrip("# ") or name
        id_ = document_id(EVERYONE, f"{FOLDER}/{name}")
        made = await own_entry(id_, EVERYONE, Source.SYSTEM, f"Junto: {title}", text)
        yield replace(made, document=replace(made.document, folder=FOLDER))


def _files() -> Iterator[tuple[str, Traversable]]:
    """Yield each page with its path in the manual."""
    packed = files("junto") / "manual"
    if packed.is_dir():
        yield from _within(packed)
        return
    yield from _within(_SOURCES / "docs")
    if (_SOURCES / "README.md").is_file():
        yield "README.md", _SOURCES / "README.md"


def _within(folder: Traversable, path: str = "") -> Iterator[tuple[str, Traversable]]:
    if not folder.is_dir():
        return
    for each in folder.iterdir():
        if each.is_dir():
            yield from _within(each, f"{path}{each.name}/")
        elif each.name.endswith(".md"):
            yield path + each.name, each
