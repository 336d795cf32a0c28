CREATE TABLE sessions (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    owner text NOT NULL,
    cwd text NOT NULL,
    cost double precision NOT NULL,
    created double precision NOT NULL,
    updated double precision NOT NULL,
    holder text,
    held_until double precision
);
CREATE INDEX sessions_idle ON sessions (updated);

CREATE TABLE session_lines (
    key bigint GENERATED ALWAYS AS IDENTITY,
    session bigint NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    part text NOT NULL,
    text text NOT NULL,
    uuid text,
    PRIMARY KEY (session, key)
);
CREATE UNIQUE INDEX session_lines_once ON session_lines (session, part, uuid)
    WHERE uuid IS NOT NULL;
