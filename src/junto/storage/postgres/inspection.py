"""Inspection of a PostgreSQL database, and a trial run of the migrations, without changing it."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from junto.domain.errors import ConfigurationError, InputOutputError, SecurityError
from junto.storage.migrations import (
    DatabaseInfo,
    decode_applied_migrations,
    find_pending_migrations,
    load_migrations,
)
from junto.storage.postgres.database import MIGRATIONS_TABLE

if TYPE_CHECKING:
    from psycopg import AsyncConnection

    Connection = AsyncConnection[dict[str, Any]]

_CONNECT_TIMEOUT_SECONDS = 5
_TIMEOUT_SETTINGS = "SET LOCAL lock_timeout = '2s'; SET LOCAL statement_timeout = '10s'"
_SELECT_SERVER_INFO = """
SELECT current_setting('server_version') AS version,
    pg_database_size(current_database()) AS size,
    to_regclass('migrations') IS NOT NULL AS known,
    (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vectors,
    EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') AS may_have_vectors
"""
# The driver's messages name the user and the URL, and may contain a password if the URL is
# malformed. So they are matched by these substrings and replaced.
_ERROR_REASONS = {
    "authentication failed": "it refuses the user or the password",
    "no password supplied": "it wants a password",
    "no pg_hba.conf entry": "it does not let this user in from here",
    "refused": "nobody listens there",
    "no such file": "nobody listens there",
    "timeout": "it did not answer in time",
    "timed out": "it did not answer in time",
    "resolve": "its name is not known",
    "not known": "its name is not known",
    "does not exist": "there is no such database or user",
    "ssl": "it does not agree about encryption",
}


async def inspect_database(url: str) -> DatabaseInfo:
    """Return the state of the database at `url`.

    Raises:
        ConfigurationError: the driver is not installed, `url` is invalid, or a newer Junto upgraded
            the schema.
        SecurityError: the user lacks a privilege.
        InputOutputError: the server cannot be used.
    """
    async with _connect(url) as db:
        await db.set_read_only(value=True)
        [info] = await (await db.execute(_SELECT_SERVER_INFO)).fetchall()
        rows = (
            await (await db.execute("SELECT * FROM migrations")).fetchall() if info["known"] else []
        )
        applied = decode_applied_migrations(rows)
        pending = find_pending_migrations(load_migrations(__package__), applied)
        return DatabaseInfo(
            server=f"PostgreSQL {info['version'].partition(' ')[0]}",
            latest_migration=max(applied, default=None),
            pending_migrations=tuple(migration.name for migration in pending),
            size_bytes=info["size"],
            vector_extension_version=info["vectors"],
            is_vector_extension_available=info["may_have_vectors"],
        )


async def rehearse_migrations(url: str) -> None:
    """Create all tables in an empty database, and roll back.

    Raises:
        JuntoError: the migration failed.
    """
    async with _connect(url) as db:
        await db.execute(_TIMEOUT_SETTINGS.encode())
        await db.execute(MIGRATIONS_TABLE)
        for migration in load_migrations(__package__):
            await db.execute(migration.script.encode())
        await db.rollback()


@contextlib.asynccontextmanager
async def _connect(url: str) -> "AsyncIterator[Connection]":
    try:
        from psycopg import AsyncConnection
        from psycopg.rows import dict_row
    except ImportError:
        raise ConfigurationError(
            "database.url is set, but the driver is not installed: pip install 'junto[postgres]'."
        ) from None
    with _translate_errors():
        connection = await AsyncConnection.connect(
            url, connect_timeout=_CONNECT_TIMEOUT_SECONDS, row_factory=dict_row
        )
        async with connection:
            yield connection


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    import psycopg

    try:
        yield
    except psycopg.errors.InsufficientPrivilege:
        raise SecurityError("This user may not make tables there.") from None
    except psycopg.ProgrammingError as error:
        if error.sqlstate is None:
            raise ConfigurationError(
                "database.url takes an address such as postgresql://user@host/name."
            ) from None
        raise InputOutputError(f"PostgreSQL could not do it ({error.sqlstate}).") from None
    except psycopg.Error as error:
        message = str(error).lower()
        reason = next((text for part, text in _ERROR_REASONS.items() if part in message), None)
        if reason is None:
            reason = error.sqlstate or type(error).__name__
        raise InputOutputError(f"PostgreSQL cannot be used: {reason}.") from None
