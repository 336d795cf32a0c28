CREATE TABLE jobs (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    owner text NOT NULL,
    tool text NOT NULL,
    digest text NOT NULL,
    server text NOT NULL,
    state text NOT NULL,
    detached integer NOT NULL,
    created double precision NOT NULL,
    updated double precision NOT NULL,
    started double precision,
    ended double precision,
    usage text,
    result text,
    error text,
    asks text
);
CREATE INDEX jobs_by_time ON jobs (owner, created DESC, key DESC);
CREATE INDEX jobs_unfinished ON jobs (server) WHERE ended IS NULL;
CREATE INDEX jobs_ended ON jobs (ended) WHERE ended IS NOT NULL;

CREATE TABLE job_entries (
    job bigint NOT NULL REFERENCES jobs (key) ON DELETE CASCADE,
    sequence integer NOT NULL,
    at double precision NOT NULL,
    kind text NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (job, sequence)
);

CREATE TABLE job_letters (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job bigint NOT NULL REFERENCES jobs (key) ON DELETE CASCADE,
    wish text NOT NULL,
    text text NOT NULL
);
CREATE INDEX job_letters_by_job ON job_letters (job);

CREATE TABLE servers (
    id text PRIMARY KEY,
    seen double precision NOT NULL
);
