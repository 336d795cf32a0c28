"""Sessions and their transcripts as rows, the same in every database."""

from typing import Any

from junto.domain.sessions import Line, Session
from junto.storage.rows import Row, clean

COLUMNS = ("id", "owner", "cwd", "cost", "created", "updated")
CHANGING = ("cwd", "cost", "updated")


def session_row(session: Session) -> dict[str, Any]:
    """Return what is kept of a session."""
    row = {name: getattr(session, name) for name in COLUMNS}
    return row | {"cwd": clean(session.cwd)}


def read_session(row: Row) -> Session:
    """Return the session in a row."""
    return Session(**{name: row[name] for name in COLUMNS})


def line_row(line: Line) -> tuple[str, str, str | None]:
    """Return what is kept of a line: its part, its text, its identity."""
    return clean(line.part), clean(line.text), None if line.uuid is None else clean(line.uuid)


def read_line(row: Row) -> Line:
    """Return the line in a row."""
    return Line(row["part"], row["text"], row["uuid"])
