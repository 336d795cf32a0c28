"""Read-only access to a SQLite file, which neither changes it nor waits long for writers."""

import sqlite3
from contextlib import closing
from pathlib import Path

_SELECT_LATEST = """
    SELECT id, title FROM conversations
    WHERE owner = ? AND status = 'active' AND substr(id, 1, length(?)) = ?
    ORDER BY updated DESC, key DESC LIMIT ?
"""


def list_latest_conversations(
    path: Path, owner: str, prefix: str, limit: int
) -> list[tuple[str, str]]:
    """Return the ids that start with `prefix` and their titles, latest first.

    Raises:
        sqlite3.Error: the file does not exist, or cannot be read immediately.
    """
    with closing(open_readonly(path, 0.1)) as db:
        return db.execute(_SELECT_LATEST, (owner, prefix, prefix, limit)).fetchall()


def open_readonly(path: Path, timeout: float) -> sqlite3.Connection:
    """Open a file read-only, with `timeout` seconds to wait for locks."""
    # Without a WAL no process has the file open. `immutable` then keeps SQLite from creating the
    # -wal and -shm files beside it.
    is_open = path.with_name(f"{path.name}-wal").exists()
    uri = f"{path.absolute().as_uri()}?mode=ro{'' if is_open else '&immutable=1'}"
    return sqlite3.connect(uri, uri=True, timeout=timeout)
