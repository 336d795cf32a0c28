"""A SQLite file: one connection that writes, some that read, each in a thread of its own."""

import asyncio
import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from junto.domain.errors import InputOutputError
from junto.security.folders import made_privately
from junto.storage.migrations import migrations, missing

_READERS = 4
# How long a writer waits for another process that is writing; a turn takes milliseconds.
_BUSY_SECONDS = 60.0
_LOOK_AGAIN, _PAUSE = 1.0, 0.01

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Database:
    """An open file."""

    target: str
    _writer: ThreadPoolExecutor
    _readers: ThreadPoolExecutor
    _local: threading.local = field(default_factory=threading.local)
    _connections: list[sqlite3.Connection] = field(default_factory=list)
    _closing: threading.Event = field(default_factory=threading.Event)

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(cls, path: Path | None) -> AsyncIterator["Database"]:
        """Open the file at `path`, or one in memory, and bring it up to date.

        Raises:
            InputOutputError: it cannot be opened.
            ConfigurationError: it was made by a newer Junto.
        """
        if path:
            await asyncio.to_thread(_made, path)
        writer = ThreadPoolExecutor(1, "junto-writer")
        # A database in memory belongs to one connection, so that one reads as well.
        readers = ThreadPoolExecutor(_READERS, "junto-reader") if path else writer
        database = cls(str(path or ":memory:"), writer, readers)
        try:
            # Only whoever has to change something waits for a writer.
            if not await database.read(_is_up_to_date):
                await database.write(_migrated)
            yield database
        finally:
            await asyncio.to_thread(database.close)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction of its own; if it fails, nothing has happened."""
        return await self._in(self._writer, lambda: self._written(work))

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work`, which only looks, beside whoever writes."""
        return await self._in(self._readers, lambda: work(self._connection()))

    async def _in(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        with reported():
            return await asyncio.get_running_loop().run_in_executor(threads, work)

    def _written(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._connection()
        # Taking the lock at once: two that read first and write then could never go on.
        _patiently(connection, "BEGIN IMMEDIATE", self._closing)
        try:
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return result

    def _connection(self) -> sqlite3.Connection:
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = self._local.connection = _connected(self.target)
            self._connections.append(found)
        return found

    def close(self) -> None:
        """Finish what was begun, and close every connection."""
        self._closing.set()
        for threads in (self._writer, self._readers):
            threads.shutdown()
        for connection in self._connections:
            connection.close()


def _made(path: Path) -> None:
    """Make the file, if it is not there, so that nobody else can read it."""
    try:
        made_privately(path.parent)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise InputOutputError(
            f"{path} cannot be opened: {error.strerror}. Choose another place with state_directory."
        ) from error


def _connected(target: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        target, timeout=_LOOK_AGAIN, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    _patiently(connection, "PRAGMA journal_mode = WAL", threading.Event())
    for pragma in (
        "synchronous = FULL",  # an answered turn survives the power going out, too
        "foreign_keys = ON",
        "temp_store = MEMORY",
        "cache_size = -8000",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _patiently(connection: sqlite3.Connection, statement: str, closing: threading.Event) -> None:
    """Execute what another process may be in the way of, again and again.

    SQLite's own patience does not cover all of it, and cannot be cut short at the end.
    """
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or closing.is_set() or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
        else:
            return


def _is_up_to_date(connection: sqlite3.Connection) -> bool:
    try:
        done = [row[0] for row in connection.execute("SELECT name FROM migrations")]
    except sqlite3.OperationalError:
        return False
    return not missing(migrations(__package__), done)


def _migrated(connection: sqlite3.Connection) -> None:
    # Inside the writer's transaction, so two processes that start at once do not meet.
    connection.execute("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY) STRICT")
    done = [row[0] for row in connection.execute("SELECT name FROM migrations")]
    for migration in missing(migrations(__package__), done):
        for statement in _statements(migration.script):
            connection.execute(statement)
        connection.execute("INSERT INTO migrations (name) VALUES (?)", (migration.name,))


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script; `executescript` would end the transaction."""
    rest = ""
    for line in script.splitlines(keepends=True):
        rest += line
        if sqlite3.complete_statement(rest):
            yield rest
            rest = ""


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Turn SQLite's failures into ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputOutputError(
            f"The database cannot be used: {error}. `junto doctor` says more."
        ) from error
