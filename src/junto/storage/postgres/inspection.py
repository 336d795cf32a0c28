"""Looking at a PostgreSQL server without changing it."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from junto.domain.errors import ConfigurationError, InputOutputError, SecurityError
from junto.storage.migrations import migrations, missing
from junto.storage.sights import Sight

if TYPE_CHECKING:
    from psycopg import AsyncConnection

    Connection = AsyncConnection[dict[str, Any]]

_SECONDS = 5
_PATIENCE = "SET LOCAL lock_timeout = '2s'; SET LOCAL statement_timeout = '10s'"
_FACTS = """
SELECT current_setting('server_version') AS version,
    pg_database_size(current_database()) AS size,
    to_regclass('migrations') IS NOT NULL AS known,
    (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vectors,
    EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') AS may_have_vectors
"""
# The driver's own words name the user and the address, and may hold a password where the address
# is spelled wrong; so they are recognised, and said in ours.
_REASONS = {
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


async def look(url: str) -> Sight:
    """Return how the database at `url` is.

    Raises:
        ConfigurationError: the driver is missing, `url` is none, or a newer Junto made the tables.
        SecurityError: the server does not let us in.
        InputOutputError: it cannot be reached.
    """
    async with _connected(url) as db:
        await db.set_read_only(value=True)
        [facts] = await (await db.execute(_FACTS)).fetchall()
        rows = (
            await (await db.execute("SELECT name FROM migrations")).fetchall()
            if facts["known"]
            else []
        )
        done = [row["name"] for row in rows]
        pending = missing(migrations(__package__), done)
        return Sight(
            server=f"PostgreSQL {facts['version'].partition(' ')[0]}",
            latest=max(done, default=None),
            pending=tuple(migration.name for migration in pending),
            size=facts["size"],
            vectors=facts["vectors"],
            may_have_vectors=facts["may_have_vectors"],
        )


async def rehearse(url: str) -> None:
    """Make all our tables in a database that has none, and take all of it back.

    Raises:
        JuntoError: that does not work.
    """
    async with _connected(url) as db:
        await db.execute(_PATIENCE.encode())
        for migration in migrations(__package__):
            await db.execute(migration.script.encode())
        await db.rollback()


@contextlib.asynccontextmanager
async def _connected(url: str) -> "AsyncIterator[Connection]":
    try:
        from psycopg import AsyncConnection
        from psycopg.rows import dict_row
    except ImportError:
        raise ConfigurationError(
            "database.url is set, but the driver is not installed: pip install 'junto[postgres]'."
        ) from None
    with _reported():
        connection = await AsyncConnection.connect(
            url, connect_timeout=_SECONDS, row_factory=dict_row
        )
        async with connection:
            yield connection


@contextlib.contextmanager
def _reported() -> Iterator[None]:
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
        said = str(error).lower()
        reason = next((ours for theirs, ours in _REASONS.items() if theirs in said), None)
        if reason is None:
            reason = error.sqlstate or type(error).__name__
        raise InputOutputError(f"PostgreSQL cannot be used: {reason}.") from None
