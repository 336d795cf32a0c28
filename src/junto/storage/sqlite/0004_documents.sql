-- Messages are searched as documents from now on.
DROP TRIGGER message_added;
DROP TRIGGER message_deleted;
DROP TABLE message_words;
ALTER TABLE messages DROP COLUMN words;
ALTER TABLE messages ADD COLUMN searchable INTEGER NOT NULL DEFAULT 0;
CREATE INDEX messages_unread ON messages (key) WHERE searchable = 0;

CREATE TABLE documents (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    source TEXT NOT NULL,
    url TEXT NOT NULL,
    title TEXT NOT NULL,
    kind TEXT NOT NULL,
    digest TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified REAL NOT NULL,
    indexed REAL NOT NULL,
    length INTEGER NOT NULL,
    folder TEXT NOT NULL,
    message INTEGER REFERENCES messages (key) ON DELETE CASCADE,
    UNIQUE (owner, id)
) STRICT;
CREATE INDEX documents_by_address ON documents (owner, url);
CREATE INDEX documents_by_folder ON documents (owner, folder) WHERE folder <> '';
CREATE INDEX documents_by_message ON documents (message) WHERE message IS NOT NULL;

-- Apart from the documents, so that looking through those need not step over their texts.
CREATE TABLE texts (
    document INTEGER PRIMARY KEY REFERENCES documents (key) ON DELETE CASCADE,
    text TEXT NOT NULL
) STRICT;

-- Keys are never used again, since the files beside the database hold them too.
CREATE TABLE passages (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents (key) ON DELETE CASCADE,
    begins INTEGER NOT NULL,
    ends INTEGER NOT NULL,
    path TEXT NOT NULL,
    heading TEXT NOT NULL,
    words TEXT NOT NULL
) STRICT;
CREATE INDEX passages_by_document ON passages (document);

CREATE VIRTUAL TABLE passage_words USING fts5 (
    heading, words, content = 'passages', content_rowid = 'key', tokenize = 'porter unicode61'
);
CREATE TRIGGER passage_added AFTER INSERT ON passages BEGIN
    INSERT INTO passage_words (rowid, heading, words) VALUES (new.key, new.heading, new.words);
END;
CREATE TRIGGER passage_deleted AFTER DELETE ON passages BEGIN
    INSERT INTO passage_words (passage_words, rowid, heading, words)
    VALUES ('delete', old.key, old.heading, old.words);
END;

-- The token names the files beside the database, which belong to it and to no other.
CREATE TABLE embedders (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    token TEXT NOT NULL DEFAULT (lower(hex(randomblob(16)))),
    UNIQUE (name, dimension)
) STRICT;
CREATE TABLE vectors (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    embedder INTEGER NOT NULL REFERENCES embedders (key),
    passage INTEGER NOT NULL REFERENCES passages (key) ON DELETE CASCADE,
    vector BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX vectors_by_passage ON vectors (passage, embedder);
CREATE INDEX vectors_by_embedder ON vectors (embedder, key);

CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    held_until REAL NOT NULL
) STRICT;
