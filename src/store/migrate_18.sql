-- Version 18 to 19: runs that were handed to a batch system.
CREATE TABLE submission(
  id              INTEGER PRIMARY KEY,
  run             INTEGER NOT NULL REFERENCES run,
  launcher        TEXT NOT NULL,
  token           TEXT NOT NULL,
  job             TEXT,
  state           TEXT NOT NULL CHECK (state IN ('sent', 'waiting', 'running', 'ended', 'refused')),
  outcome         TEXT,
  why             TEXT,
  nodes           TEXT,
  n_nodes         INTEGER NOT NULL,
  time_limit_s    REAL,
  script          TEXT,
  output          TEXT,
  cancelled       INTEGER NOT NULL DEFAULT 0,
  shard           TEXT UNIQUE,
  sent_wall_ns    INTEGER NOT NULL,
  ended_wall_ns   INTEGER
) STRICT;
CREATE INDEX submission_by_run ON submission(run);
