CREATE TABLE sessions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    cwd TEXT NOT NULL,
    cost REAL NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    holder TEXT,
    held_until REAL
) STRICT;
CREATE INDEX sessions_idle ON sessions (updated);

CREATE TABLE session_lines (
    key INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    part TEXT NOT NULL,
    text TEXT NOT NULL,
    uuid TEXT
) STRICT;
-- An index ends with the key, so this one has a session's lines in their order.
CREATE INDEX session_lines_in_order ON session_lines (session);
CREATE UNIQUE INDEX session_lines_once ON session_lines (session, part, uuid)
    WHERE uuid IS NOT NULL;
