"""The knowledge of a running Junto, built from its settings."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from junto.app.memory import Stores
from junto.domain.documents import Source
from junto.domain.embeddings import Embedder
from junto.knowledge.library import Library
from junto.knowledge.placing import Placing
from junto.knowledge.service import Search, Standards
from junto.settings.tree import Settings


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known, and how it is found."""

    search: Search
    library: Library
    placing: Placing | None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Do in the background what makes things searchable."""
        if self.placing is None:
            yield
            return
        async with self.placing.running():
            yield


def knowledge_of(settings: Settings, stores: Stores, embedder: Embedder | None) -> Knowledge:
    """Return the search, the documents, and what works behind them."""
    chosen = settings.knowledge
    remembers = settings.conversations.enabled
    news = asyncio.Event()
    library = Library(stores.documents, news, remembers=remembers)
    prepare = library.listen if remembers else None
    placing = Placing(stores.vectors, embedder, news, prepare) if embedder else None
    standards = Standards(chosen.threshold, chosen.similarity, chosen.trust)
    everyday = (Source.DOCUMENTS, Source.NOTES, *((Source.CONVERSATIONS,) if remembers else ()))
    search = Search(stores.search, embedder, standards, library.freshen, everyday)
    return Knowledge(search, library, placing)
