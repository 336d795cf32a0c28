"""Documents on their way into the store, many in one step."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from junto.domain.documents import DocumentStore, Entry, Known
from junto.work.tasks import finished

_MOST, _MOST_CHARACTERS = 64, 2_000_000


@dataclass(eq=False, slots=True)
class Batches:
    """Gathers documents, and writes them while the next ones are read."""

    store: DocumentStore
    owner: str
    _entries: list[Entry] = field(default_factory=list, init=False)
    _confirmed: list[Known] = field(default_factory=list, init=False)
    _characters: int = field(default=0, init=False)
    _writing: "asyncio.Task[None] | None" = field(default=None, init=False)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["Batches"]:
        """Write what is left at the end of the block, however it ends."""
        try:
            yield self
        finally:
            # Whoever stops a run does not want to read the same files again.
            await finished(self._all_written())

    async def add(self, entry: Entry) -> None:
        """Have a document kept, soon."""
        self._entries.append(entry)
        self._characters += len(entry.text)
        if len(self._entries) >= _MOST or self._characters >= _MOST_CHARACTERS:
            await self._write()

    async def confirm(self, known: Known) -> None:
        """Have it noted that a document was touched and is the same."""
        self._confirmed.append(known)
        if len(self._confirmed) >= _MOST:
            await self._write()

    async def _all_written(self) -> None:
        await self._write()
        if self._writing:
            await self._writing

    async def _write(self) -> None:
        if self._writing:
            await asyncio.shield(self._writing)
        entries, self._entries, self._characters = self._entries, [], 0
        confirmed, self._confirmed = self._confirmed, []
        self._writing = asyncio.create_task(self._written(entries, confirmed))

    async def _written(self, entries: list[Entry], confirmed: list[Known]) -> None:
        if entries:
            await self.store.keep(entries)
        if confirmed:
            await self.store.confirm(self.owner, confirmed)
