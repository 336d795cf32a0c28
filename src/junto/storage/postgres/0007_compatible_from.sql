-- compatible_from: 0007_compatible_from
-- The oldest migration that a server has to know to work with the schema after each one.
ALTER TABLE migrations ADD COLUMN compatible_from text;
