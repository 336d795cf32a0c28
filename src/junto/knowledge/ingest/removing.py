"""Documents taken out of the store again, by id, address, file or folder."""

import asyncio
import os
from pathlib import Path

from junto.domain.documents import DocumentStore
from junto.knowledge.ingest.walking import file_url

_FOLDERS_AT_ONCE = 500


async def removed(store: DocumentStore, owner: str, word: str) -> int:
    """Remove what `word` names, and what is beneath it; return how many documents that were."""
    gone = 0
    for address in (word, await asyncio.to_thread(_address, word)):
        found = await store.find(owner, address)
        if found and found.owner == owner:
            gone += await store.forget(owner, [found.id])
        gone += await _beneath(store, owner, address)
    return gone


def _address(word: str) -> str:
    return file_url(Path(os.path.realpath(Path(word).expanduser())))


async def _beneath(store: DocumentStore, owner: str, folder: str) -> int:
    gone = 0
    # What is removed is not listed again, so the first ones are always new.
    while some := await store.folders(owner, folder, "", _FOLDERS_AT_ONCE):
        for each in some:
            known = await store.known(owner, each)
            gone += await store.forget(owner, [one.id for one in known.values()])
    return gone
