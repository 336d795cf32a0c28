CREATE TABLE conversations (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    model TEXT NOT NULL,
    title TEXT NOT NULL,
    system TEXT,
    settings TEXT NOT NULL,
    models TEXT NOT NULL,
    status TEXT NOT NULL,
    parent INTEGER REFERENCES conversations (key),
    inherited INTEGER NOT NULL,
    length INTEGER NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    touched REAL NOT NULL,
    UNIQUE (owner, id)
) STRICT;
CREATE INDEX conversations_by_time
    ON conversations (owner, status, updated DESC, key DESC, title);
CREATE INDEX conversations_by_parent ON conversations (parent) WHERE parent IS NOT NULL;
CREATE INDEX conversations_deleted ON conversations (key) WHERE status = 'deleted';
CREATE INDEX conversations_idle ON conversations (touched) WHERE status = 'active';

CREATE TABLE messages (
    key INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations (key),
    position INTEGER NOT NULL,
    role TEXT NOT NULL,
    parts TEXT NOT NULL,
    words TEXT NOT NULL,
    at REAL NOT NULL,
    model TEXT,
    provider TEXT,
    usage TEXT,
    cost TEXT,
    UNIQUE (conversation, position)
) STRICT;

CREATE VIRTUAL TABLE message_words USING fts5 (
    words, content = 'messages', content_rowid = 'key', tokenize = 'porter unicode61'
);
CREATE TRIGGER message_added AFTER INSERT ON messages BEGIN
    INSERT INTO message_words (rowid, words) VALUES (new.key, new.words);
END;
CREATE TRIGGER message_deleted AFTER DELETE ON messages BEGIN
    INSERT INTO message_words (message_words, rowid, words) VALUES ('delete', old.key, old.words);
END;
