"""Files watched, so that what changes is indexed again."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from junto.domain.errors import ConfigurationError
from junto.knowledge.ingest.targets import File, Folder

_MISSING = "Watching files needs: pip install 'junto[documents]'."


async def changes(targets: Sequence[Folder | File]) -> AsyncGenerator[list[Folder | File]]:
    """Yield those of the targets in which something has changed, again and again.

    Raises:
        ConfigurationError: what is needed for it is not installed.
    """
    try:
        from watchfiles import awatch
    except ImportError:
        raise ConfigurationError(_MISSING) from None
    places = {each.path for each in targets}
    stop = asyncio.Event()
    try:
        async for changed in awatch(*places, stop_event=stop):
            paths = [Path(path) for _, path in changed]
            hit = [
                each for each in targets if any(path.is_relative_to(each.path) for path in paths)
            ]
            if hit:
                yield hit
    finally:
        stop.set()
