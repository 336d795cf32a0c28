"""A council with its counting, as a running Junto has it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from junto.app.counting import Counting, counting_of
from junto.app.memory import stores_of
from junto.app.models import council_of
from junto.providers.catalog.catalog import Catalog
from junto.providers.provider import Provider
from junto.settings.tree import Settings


@asynccontextmanager
async def counted(
    settings: Settings, catalog: Catalog, folder: Path
) -> AsyncIterator[tuple[Provider, Counting]]:
    async with AsyncExitStack() as stack:
        counting = counting_of(settings, stores_of(settings, folder, stack), stack)
        async with council_of(settings, catalog, folder, counting) as council:
            yield council, counting
