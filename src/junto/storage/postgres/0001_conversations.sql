CREATE TABLE conversations (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL,
    owner text NOT NULL,
    model text NOT NULL,
    title text NOT NULL,
    folded text GENERATED ALWAYS AS (lower(title)) STORED,
    system text,
    settings text NOT NULL,
    models text NOT NULL,
    status text NOT NULL,
    parent bigint REFERENCES conversations (key),
    inherited integer NOT NULL,
    length integer NOT NULL,
    created double precision NOT NULL,
    updated double precision NOT NULL,
    touched double precision NOT NULL,
    UNIQUE (owner, id)
);
CREATE INDEX conversations_by_time
    ON conversations (owner, status, updated DESC, key DESC) INCLUDE (folded);
CREATE INDEX conversations_by_parent ON conversations (parent) WHERE parent IS NOT NULL;
CREATE INDEX conversations_deleted ON conversations (key) WHERE status = 'deleted';
CREATE INDEX conversations_idle ON conversations (touched) WHERE status = 'active';

CREATE TABLE messages (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation bigint NOT NULL REFERENCES conversations (key),
    position integer NOT NULL,
    role text NOT NULL,
    parts text NOT NULL,
    words tsvector NOT NULL,
    at double precision NOT NULL,
    model text,
    provider text,
    usage text,
    cost text,
    UNIQUE (conversation, position)
);
CREATE INDEX message_words ON messages USING gin (words);
