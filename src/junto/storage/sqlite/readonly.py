"""A look into the file of conversations that changes nothing and waits for nobody."""

import sqlite3
from contextlib import closing
from pathlib import Path

_LATEST = """
    SELECT id, title FROM conversations
    WHERE owner = ? AND status = 'active' AND substr(id, 1, length(?)) = ?
    ORDER BY updated DESC, key DESC LIMIT ?
"""


def latest(path: Path, owner: str, prefix: str, limit: int) -> list[tuple[str, str]]:
    """Return ids that begin with `prefix` and the titles to them, the latest first.

    Raises:
        sqlite3.Error: there is no such file, or it cannot be read at once.
    """
    with closing(seen(path, 0.1)) as db:
        return db.execute(_LATEST, (owner, prefix, prefix, limit)).fetchall()


def seen(path: Path, seconds: float) -> sqlite3.Connection:
    """Open a file to look at it, and wait so long for whoever is in the way."""
    # A file that nobody has open is read as it is: to share it, SQLite would make two beside it.
    shared = path.with_name(f"{path.name}-wal").exists()
    uri = f"{path.absolute().as_uri()}?mode=ro{'' if shared else '&immutable=1'}"
    return sqlite3.connect(uri, uri=True, timeout=seconds)
