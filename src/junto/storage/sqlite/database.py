"""A SQLite database: one writer and several readers, each a connection in its own thread."""

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
from junto.security.private_dirs import make_private_dirs, tighten_dir
from junto.storage.migrations import (
    decode_applied_migrations,
    find_pending_migrations,
    load_migrations,
)
from junto.telemetry.logs import Log

_log = Log.get("storage")

_READER_THREADS = 4
# How long a writer waits for the writers of other processes; saving a turn takes milliseconds.
_BUSY_TIMEOUT_SECONDS = 60.0
_CONNECT_TIMEOUT_SECONDS, _RETRY_DELAY_SECONDS = 1.0, 0.01

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SqliteDatabase:
    """An open SQLite database."""

    target: str
    _writer: ThreadPoolExecutor
    _readers: ThreadPoolExecutor
    _local: threading.local = field(default_factory=threading.local)
    _connections: list[sqlite3.Connection] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, path: Path | None) -> AsyncIterator["SqliteDatabase"]:
        """Open the file at `path`, or a database in memory, and apply pending migrations.

        Raises:
            InputOutputError: the file cannot be opened.
            ConfigurationError: the file was upgraded by a newer Junto.
        """
        if path:
            await asyncio.to_thread(_create_file, path)
        writer = ThreadPoolExecutor(1, "junto-writer")
        # A database in memory belongs to one connection, so the writer also reads.
        readers = ThreadPoolExecutor(_READER_THREADS, "junto-reader") if path else writer
        database = cls(str(path or ":memory:"), writer, readers)
        try:
            # Checking first avoids waiting for the write lock when there is nothing to migrate.
            if not await database.read(_is_up_to_date):
                await database.write(lambda connection: _migrate(connection, database.target))
            yield database
        finally:
            await asyncio.to_thread(database.close)

    async def write(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Run `operation` in its own transaction, which is rolled back if it fails."""
        return await self._run_in(self._writer, lambda: self._run_transaction(operation))

    async def read(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Run the read-only `operation`, concurrently with writers."""
        return await self._run_in(self._readers, lambda: operation(self._get_connection()))

    async def _run_in(self, threads: ThreadPoolExecutor, operation: Callable[[], T]) -> T:
        with translate_errors():
            return await asyncio.get_running_loop().run_in_executor(threads, operation)

    def _run_transaction(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._get_connection()
        # IMMEDIATE takes the write lock at once: two deferred transactions that read first and
        # then write would deadlock.
        _execute_with_retry(connection, "BEGIN IMMEDIATE", self._stop)
        try:
            result = operation(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return result

    def _get_connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = _connect(self.target)
            self._connections.append(connection)
        return connection

    def close(self) -> None:
        """Wait for running operations, and close all connections."""
        self._stop.set()
        for threads in (self._writer, self._readers):
            threads.shutdown()
        for connection in self._connections:
            connection.close()


def _create_file(path: Path) -> None:
    """Create the file if it does not exist, readable by its owner only."""
    try:
        make_private_dirs(path.parent)
        tighten_dir(path.parent)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise InputOutputError(
            f"{path} cannot be opened: {error.strerror}. Choose another place with state_directory."
        ) from error


def _connect(target: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        target, timeout=_CONNECT_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    _execute_with_retry(connection, "PRAGMA journal_mode = WAL", threading.Event())
    for pragma in (
        "synchronous = FULL",  # a saved turn must survive a power failure
        "foreign_keys = ON",
        "temp_store = MEMORY",
        "cache_size = -8000",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _execute_with_retry(
    connection: sqlite3.Connection, statement: str, stop: threading.Event
) -> None:
    """Execute a statement, and retry while another process holds a lock.

    SQLite's busy timeout does not cover all such cases, and cannot be interrupted on shutdown.
    """
    deadline = time.monotonic() + _BUSY_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or stop.is_set() or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_DELAY_SECONDS)
        else:
            return


def load_applied_migrations(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the applied migrations, in the form of `decode_applied_migrations`."""
    cursor = connection.execute("SELECT * FROM migrations")
    columns = [column[0] for column in cursor.description]
    return decode_applied_migrations(dict(zip(columns, row, strict=True)) for row in cursor)


def _is_up_to_date(connection: sqlite3.Connection) -> bool:
    try:
        applied = load_applied_migrations(connection)
    except sqlite3.OperationalError:
        return False
    return not find_pending_migrations(load_migrations(__package__), applied)


def _migrate(connection: sqlite3.Connection, target: str) -> None:
    # Runs in the writer's transaction, so that two processes starting together do not both migrate.
    connection.execute("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY) STRICT")
    applied = load_applied_migrations(connection)
    pending = find_pending_migrations(load_migrations(__package__), applied)
    if applied and pending:
        _back_up(target, pending[0].name)
    for migration in pending:
        for statement in _split_statements(migration.script):
            connection.execute(statement)
        connection.execute("INSERT INTO migrations (name) VALUES (?)", (migration.name,))
    connection.executemany(
        "UPDATE migrations SET compatible_from = ? WHERE name = ?",
        [(migration.compatible_from, migration.name) for migration in pending],
    )


def _back_up(target: str, migration: str) -> None:
    """Copy the file to `junto.db.before-MIGRATION`, readable by its owner only.

    The copy is made through another connection, which sees the state before this transaction.
    """
    copy, unfinished = Path(f"{target}.before-{migration}"), Path(f"{target}.backup-in-progress")
    try:
        unfinished.unlink(missing_ok=True)
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with (
            contextlib.closing(sqlite3.connect(target)) as source,
            contextlib.closing(sqlite3.connect(unfinished)) as backup,
        ):
            source.backup(backup)
    except (OSError, sqlite3.Error) as error:
        raise InputOutputError(
            f"{target} could not be backed up before its upgrade: {error}. Nothing was changed. "
            f"Free some space in {copy.parent} and start again."
        ) from error
    unfinished.replace(copy)
    _log.info("database backed up before an upgrade", backup=str(copy), migration=migration)


def _split_statements(script: str) -> Iterator[str]:
    """Yield the statements of a script; `executescript` would commit the transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextlib.contextmanager
def translate_errors() -> Iterator[None]:
    """Translate SQLite errors to ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputOutputError(
            f"The database cannot be used: {error}. `junto doctor` says more."
        ) from error
