-- When a server was last seen that makes and asks for its vectors.
ALTER TABLE embedders ADD COLUMN used double precision NOT NULL DEFAULT 0;
