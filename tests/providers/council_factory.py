"""A council with usage tracking, built as in a running Junto."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from junto.app.models import open_council
from junto.app.storage import build_stores
from junto.app.usage import UsageTracker, build_usage_tracker
from junto.providers.catalog.catalog import Catalog
from junto.providers.provider import Provider
from junto.settings.schema import Settings


@asynccontextmanager
async def open_council_with_usage(
    settings: Settings, catalog: Catalog, state_dir: Path
) -> AsyncIterator[tuple[Provider, UsageTracker]]:
    async with AsyncExitStack() as stack:
        usage_tracker = build_usage_tracker(
            settings, build_stores(settings, state_dir, stack), stack
        )
        async with open_council(settings, catalog, state_dir, usage_tracker) as council:
            yield council, usage_tracker
