CREATE TABLE jobs (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    tool TEXT NOT NULL,
    digest TEXT NOT NULL,
    server TEXT NOT NULL,
    state TEXT NOT NULL,
    detached INTEGER NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    started REAL,
    ended REAL,
    usage TEXT,
    result TEXT,
    error TEXT,
    asks TEXT
) STRICT;
CREATE INDEX jobs_by_time ON jobs (owner, created DESC, key DESC);
CREATE INDEX jobs_unfinished ON jobs (server) WHERE ended IS NULL;
CREATE INDEX jobs_ended ON jobs (ended) WHERE ended IS NOT NULL;

CREATE TABLE job_entries (
    job INTEGER NOT NULL REFERENCES jobs (key) ON DELETE CASCADE,
    sequence INTEGER NOT NULL,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (job, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_letters (
    key INTEGER PRIMARY KEY,
    job INTEGER NOT NULL REFERENCES jobs (key) ON DELETE CASCADE,
    wish TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX job_letters_by_job ON job_letters (job);

CREATE TABLE servers (
    id TEXT PRIMARY KEY,
    seen REAL NOT NULL
) STRICT;
