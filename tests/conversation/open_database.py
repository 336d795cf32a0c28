"""Give conversation stores a database that is already open."""

from collections.abc import Awaitable, Callable

from junto.storage.sqlite.database import SqliteDatabase


def database_opener(database: SqliteDatabase) -> Callable[[], Awaitable[SqliteDatabase]]:
    """Return the function with which a store opens its database."""

    async def open_database() -> SqliteDatabase:
        return database

    return open_database
