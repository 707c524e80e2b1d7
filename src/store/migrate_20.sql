-- Version 20 to 21: where the batch system put the job of a run.
CREATE TABLE placement(
  run             INTEGER PRIMARY KEY REFERENCES run,
  nodes           TEXT,
  switches        TEXT,
  queue_wait_s    REAL,
  other_jobs      TEXT
) STRICT;
