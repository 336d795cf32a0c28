"""Inspection of a SQLite file, and a trial run of its migrations, without changing it."""

import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from junto.domain.errors import InputOutputError, SecurityError
from junto.storage.migrations import DatabaseInfo, find_pending_migrations, load_migrations
from junto.storage.sqlite.database import SqliteDatabase, load_applied_migrations
from junto.storage.sqlite.readonly import open_readonly

_BUSY_TIMEOUT_SECONDS = 2.0
# Virtual machine instructions between two checks of the time limit.
_PROGRESS_STEPS = 100_000


def inspect_database(path: Path, max_seconds: float) -> DatabaseInfo | None:
    """Return the state of the file at `path`, or None if it does not exist.

    The integrity check of a large file takes long; it stops after `max_seconds`.

    Raises:
        SecurityError: the user may not read and write the file.
        InputOutputError: the file cannot be read, is damaged, or is not a Junto database.
        ConfigurationError: the file was upgraded by a newer Junto.
    """
    try:
        path.open("r+b").close()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        raise SecurityError(f"{path} is not yours to read and to write.") from None
    try:
        with closing(open_readonly(path, _BUSY_TIMEOUT_SECONDS)) as connection:
            applied = _inspect_migrations(connection, path)
            pending = find_pending_migrations(load_migrations(__package__), applied)
            return DatabaseInfo(
                server=f"SQLite {sqlite3.sqlite_version}",
                latest_migration=max(applied, default=None),
                pending_migrations=tuple(migration.name for migration in pending),
                size_bytes=path.stat().st_size,
                is_fully_checked=_check_integrity(connection, path, max_seconds),
            )
    except (sqlite3.Error, OSError) as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
        # SQLite creates files beside the database, even to read it.
        if code & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise SecurityError(f"The folder of {path} is not yours to write.") from None
        raise InputOutputError(f"{path} cannot be read: {error}.") from error


async def rehearse_migrations(path: Path | None) -> None:
    """Migrate a temporary copy of the file at `path`, or a new file, and delete it.

    Raises:
        JuntoError: the migration failed.
    """
    with tempfile.TemporaryDirectory(prefix="junto-") as folder:
        copy = Path(folder) / "junto.db"
        if path:
            with (
                closing(open_readonly(path, _BUSY_TIMEOUT_SECONDS)) as source,
                closing(sqlite3.connect(copy)) as target,
            ):
                source.backup(target)
        async with SqliteDatabase.open(copy):
            pass


def _inspect_migrations(connection: sqlite3.Connection, path: Path) -> dict[str, str]:
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}
    if "migrations" in tables:
        return load_applied_migrations(connection)
    if tables:
        raise InputOutputError(f"{path} is another program's database.")
    return {}


def _check_integrity(connection: sqlite3.Connection, path: Path, max_seconds: float) -> bool:
    """Return whether the whole file was checked within `max_seconds`."""
    deadline = time.monotonic() + max_seconds
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _PROGRESS_STEPS)
    try:
        [result] = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return False
    finally:
        connection.set_progress_handler(None, 0)
    if result != "ok":
        raise InputOutputError(f"{path} is damaged: {' '.join(result.split())}.")
    return True
