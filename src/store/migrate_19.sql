-- Version 19 to 20: runs that were imported say from what.
CREATE TABLE source(
  id              INTEGER PRIMARY KEY,
  run             INTEGER NOT NULL REFERENCES run,
  format          TEXT NOT NULL,
  tool            TEXT,
  path            TEXT NOT NULL,
  part            TEXT NOT NULL,
  bytes           INTEGER NOT NULL,
  crc             INTEGER NOT NULL,
  version         TEXT NOT NULL
) STRICT;
CREATE INDEX source_by_run ON source(run);
CREATE INDEX source_by_content ON source(bytes, crc);
