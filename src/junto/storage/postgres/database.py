"""A PostgreSQL database: its connection pool, migrations and error translation."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from junto.domain.errors import ConfigurationError, InputOutputError
from junto.storage.migrations import (
    decode_applied_migrations,
    find_pending_migrations,
    load_migrations,
)

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg_pool import AsyncConnectionPool

    Connection = AsyncConnection[dict[str, Any]]

_MAX_CONNECTIONS = 10
_TIMEOUT_SECONDS = 15.0
# Advisory lock for schema changes; an arbitrary number that no other program should use.
_SCHEMA_LOCK_ID = 0x6A756E746F
MIGRATIONS_TABLE = "CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY)"


class PostgresDatabase:
    """A pool of connections to a PostgreSQL database."""

    def __init__(self, pool: "AsyncConnectionPool[Connection]") -> None:
        self._pool = pool

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, url: str) -> AsyncIterator["PostgresDatabase"]:
        """Connect to the database at `url`, and apply pending migrations.

        Raises:
            ConfigurationError: the driver is not installed, or a newer Junto upgraded the schema.
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
            kwargs={"row_factory": dict_row, "connect_timeout": int(_TIMEOUT_SECONDS)},
            min_size=1,
            max_size=_MAX_CONNECTIONS,
            timeout=_TIMEOUT_SECONDS,
            open=False,
        )
        async with contextlib.AsyncExitStack() as stack:
            with translate_errors():
                await stack.enter_async_context(pool)
                database = cls(pool)
                await database._migrate()
            yield database

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator["Connection"]:
        """Provide a connection for one transaction, which is rolled back if the block fails."""
        with translate_errors():
            connection = await self._get_healthy_connection()
            try:
                async with connection:
                    yield connection
            finally:
                await self._pool.putconn(connection)

    @contextlib.asynccontextmanager
    async def schema_transaction(self) -> AsyncIterator["Connection"]:
        """Provide a connection for one schema-changing transaction; only one runs at a time."""
        async with self.transaction() as connection:
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK_ID,))
            yield connection

    async def _get_healthy_connection(self) -> "Connection":
        """Return a connection that was not closed while it was idle in the pool.

        The pool's own check would wait a second or more after each closed connection.
        """
        for _ in range(2 * _MAX_CONNECTIONS):
            connection = await self._pool.getconn()
            try:
                await self._pool.check_connection(connection)
            except Exception:  # noqa: BLE001 - whatever the error, another connection may work
                await self._pool.putconn(connection)
            except BaseException:
                await self._pool.putconn(connection)
                raise
            else:
                return connection
        return await self._pool.getconn()

    async def _migrate(self) -> None:
        async with self.schema_transaction() as db:
            await db.execute(MIGRATIONS_TABLE)
            rows = await (await db.execute("SELECT * FROM migrations")).fetchall()
            pending = find_pending_migrations(
                load_migrations(__package__), decode_applied_migrations(rows)
            )
            for migration in pending:
                await db.execute(migration.script.encode())
                await db.execute("INSERT INTO migrations (name) VALUES (%s)", (migration.name,))
            # Only now does the table have this column, whichever migration was applied first.
            for migration in pending:
                await db.execute(
                    "UPDATE migrations SET compatible_from = %s WHERE name = %s",
                    (migration.compatible_from, migration.name),
                )


@contextlib.contextmanager
def translate_errors() -> Iterator[None]:
    """Translate driver errors to ours, without their text: it may contain the URL and password."""
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
        is_operational = isinstance(error, psycopg.OperationalError)
        raise InputOutputError(
            f"The PostgreSQL server could not do it ({state}).", retryable=is_operational
        ) from None
