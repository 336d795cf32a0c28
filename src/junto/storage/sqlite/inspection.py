"""Looking at a SQLite file without changing it."""

import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from junto.domain.errors import InputOutputError, SecurityError
from junto.storage.migrations import migrations, missing
from junto.storage.sights import Sight
from junto.storage.sqlite.database import Database
from junto.storage.sqlite.glancing import seen

_BUSY_SECONDS = 2.0
# So many steps of SQLite's machine lie between two looks at the clock.
_STEPS = 100_000


def look(path: Path, seconds: float) -> Sight | None:
    """Return how the file at `path` is, or None if there is none.

    Looking through all of a large file takes long; after so many seconds that is left.

    Raises:
        SecurityError: it is not this user's to read and to write.
        InputOutputError: it cannot be read, is damaged, or is no database of ours.
        ConfigurationError: it was made by a newer Junto.
    """
    try:
        path.open("r+b").close()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        raise SecurityError(f"{path} is not yours to read and to write.") from None
    try:
        with closing(seen(path, _BUSY_SECONDS)) as connection:
            done = _done(connection, path)
            pending = missing(migrations(__package__), done)
            return Sight(
                server=f"SQLite {sqlite3.sqlite_version}",
                latest=max(done, default=None),
                pending=tuple(migration.name for migration in pending),
                size=path.stat().st_size,
                whole=_is_whole(connection, path, seconds),
            )
    except (sqlite3.Error, OSError) as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
        # SQLite makes files beside it, also to read.
        if code & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise SecurityError(f"The folder of {path} is not yours to write.") from None
        raise InputOutputError(f"{path} cannot be read: {error}.") from error


async def rehearse(path: Path | None) -> None:
    """Bring a copy of the file at `path`, or a new one, up to date, and throw it away.

    Raises:
        JuntoError: that does not work.
    """
    with tempfile.TemporaryDirectory(prefix="junto-") as folder:
        copy = Path(folder) / "junto.db"
        if path:
            with (
                closing(seen(path, _BUSY_SECONDS)) as source,
                closing(sqlite3.connect(copy)) as target,
            ):
                source.backup(target)
        async with Database.opened(copy):
            pass


def _done(connection: sqlite3.Connection, path: Path) -> list[str]:
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}
    if "migrations" in tables:
        return [row[0] for row in connection.execute("SELECT name FROM migrations")]
    if tables:
        raise InputOutputError(f"{path} is another program's database.")
    return []


def _is_whole(connection: sqlite3.Connection, path: Path, seconds: float) -> bool:
    end = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    try:
        [first] = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return False
    finally:
        connection.set_progress_handler(None, 0)
    if first != "ok":
        raise InputOutputError(f"{path} is damaged: {' '.join(first.split())}.")
    return True
