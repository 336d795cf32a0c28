"""Junto's own manual, indexed like any other document."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from junto.domain.documents import PUBLIC_OWNER, DocumentEntry, DocumentStore, Source
from junto.knowledge.passages import build_markdown_entry, derive_document_id

_MANUAL_URL = "junto://manual"
# Location of the pages in a source checkout; an installed package contains them.
_REPOSITORY_DIR = Path(__file__).parents[3]


async def sync_manual(store: DocumentStore) -> int:
    """Index changed pages and remove deleted ones; return the number of both."""
    states = {
        each.id: each
        for each in (await store.load_indexed_states(PUBLIC_OWNER, _MANUAL_URL)).values()
    }
    entries = {entry.document.id: entry async for entry in _iter_pages()}
    changed = [
        entry
        for id_, entry in entries.items()
        if id_ not in states or states[id_].digest != entry.document.digest
    ]
    deleted = [id_ for id_ in states if id_ not in entries]
    if changed:
        await store.save(changed)
    if deleted:
        await store.delete(PUBLIC_OWNER, deleted)
    return len(changed) + len(deleted)


async def _iter_pages() -> AsyncIterator[DocumentEntry]:
    """Yield the entry of each page."""
    for name, page in sorted(_iter_files(), key=lambda each: each[0]):
        text = page.read_text("utf-8")
        title = text.partition("\n")[0].lstrip("# ") or name
        id_ = derive_document_id(PUBLIC_OWNER, f"{_MANUAL_URL}/{name}")
        entry = await build_markdown_entry(
            id_, PUBLIC_OWNER, Source.SYSTEM, f"Junto: {title}", text
        )
        yield replace(entry, document=replace(entry.document, folder=_MANUAL_URL))


def _iter_files() -> Iterator[tuple[str, Traversable]]:
    """Yield the file of each page, with its path in the manual."""
    packaged_dir = files("junto") / "manual"
    if packaged_dir.is_dir():
        yield from _iter_markdown_files(packaged_dir)
        return
    yield from _iter_markdown_files(_REPOSITORY_DIR / "docs")
    if (_REPOSITORY_DIR / "README.md").is_file():
        yield "README.md", _REPOSITORY_DIR / "README.md"


def _iter_markdown_files(
    directory: Traversable, prefix: str = ""
) -> Iterator[tuple[str, Traversable]]:
    if not directory.is_dir():
        return
    for each in directory.iterdir():
        if each.is_dir():
            yield from _iter_markdown_files(each, f"{prefix}{each.name}/")
        elif each.name.endswith(".md"):
            yield prefix + each.name, each
