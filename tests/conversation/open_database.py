"""What the tests of conversations share."""

from collections.abc import Awaitable, Callable

from junto.storage.sqlite.database import Database


def already(database: Database) -> Callable[[], Awaitable[Database]]:
    """Return what a store opens its database with, for one that is open."""

    async def opened() -> Database:
        return database

    return opened
