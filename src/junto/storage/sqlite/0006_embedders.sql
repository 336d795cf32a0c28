-- When a server was last seen that makes and asks for its vectors.
ALTER TABLE embedders ADD COLUMN used REAL NOT NULL DEFAULT 0;
