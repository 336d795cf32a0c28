"""A PostgreSQL server, reached through a pool of connections."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from junto.domain.errors import ConfigurationError, InputOutputError
from junto.storage.migrations import migrations, missing

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg_pool import AsyncConnectionPool

    Connection = AsyncConnection[dict[str, Any]]

_MOST_CONNECTIONS = 10
_SECONDS = 15.0
# Whoever holds this number changes the tables; any number will do that nobody else uses.
_LOCK = 0x6A756E746F


class Database:
    """An open pool."""

    def __init__(self, pool: "AsyncConnectionPool[Connection]") -> None:
        self._pool = pool

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(cls, url: str) -> AsyncIterator["Database"]:
        """Connect to the server at `url`, and bring its tables up to date.

        Raises:
            ConfigurationError: the driver is missing, or the tables are a newer Junto's.
            InputOutputError: the server cannot be reached.
        """
        try:
            from psycopg import AsyncConnection
            from psycopg.rows import dict_row
            from psycopg_pool import AsyncConnectionPool
        except ImportError:
            raise ConfigurationError(
                "database.url is set, but the driver is not installed: "
                "pip install 'junto[postgres]'."
            ) from None
        pool = AsyncConnectionPool(
            url,
            connection_class=AsyncConnection[dict[str, Any]],
            kwargs={"row_factory": dict_row, "connect_timeout": int(_SECONDS)},
            min_size=1,
            max_size=_MOST_CONNECTIONS,
            timeout=_SECONDS,
            open=False,
        )
        async with contextlib.AsyncExitStack() as stack:
            with reported():
                await stack.enter_async_context(pool)
                database = cls(pool)
                await database._migrate()
            yield database

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator["Connection"]:
        """Lend a connection for one transaction; if the block fails, nothing has happened."""
        with reported():
            connection = await self._sound()
            try:
                async with connection:
                    yield connection
            finally:
                await self._pool.putconn(connection)

    @contextlib.asynccontextmanager
    async def changing(self) -> AsyncIterator["Connection"]:
        """Lend a connection for one transaction to whoever changes tables, one after the other."""
        async with self.transaction() as connection:
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            yield connection

    async def _sound(self) -> "Connection":
        """Return a connection that was not cut while it lay in the pool.

        The pool can look by itself, but then waits a second and more after each that was.
        """
        for _ in range(2 * _MOST_CONNECTIONS):
            connection = await self._pool.getconn()
            try:
                await self._pool.check_connection(connection)
            except Exception:  # noqa: BLE001 - whatever it is, another may be better
                await self._pool.putconn(connection)
            except BaseException:
                await self._pool.putconn(connection)
                raise
            else:
                return connection
        return await self._pool.getconn()

    async def _migrate(self) -> None:
        async with self.changing() as db:
            await db.execute("CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY)")
            rows = await (await db.execute("SELECT name FROM migrations")).fetchall()
            for migration in missing(migrations(__package__), [row["name"] for row in rows]):
                await db.execute(migration.script.encode())
                await db.execute("INSERT INTO migrations (name) VALUES (%s)", (migration.name,))


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Turn the driver's failures into ours; its own words may hold the address and password."""
    import psycopg
    import psycopg_pool

    try:
        yield
    except psycopg_pool.PoolTimeout:
        raise InputOutputError(
            "The PostgreSQL server cannot be reached. See that it runs and that database.url is "
            "right.",
            retryable=True,
        ) from None
    except psycopg.Error as error:
        state = error.sqlstate or type(error).__name__
        lost = isinstance(error, psycopg.OperationalError)
        raise InputOutputError(
            f"The PostgreSQL server could not do it ({state}).", retryable=lost
        ) from None
