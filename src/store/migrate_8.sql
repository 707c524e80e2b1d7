-- Version 8 to 9: what the workload said its metrics are. Older runs said nothing.
CREATE TABLE metric_def(
  run             INTEGER NOT NULL REFERENCES run,
  name            TEXT NOT NULL,          -- as in metric
  place           INTEGER NOT NULL,       -- from 1, in the order in which they were said
  label           TEXT,                   -- for people; NULL here and below: it did not say
  unit            TEXT,
  larger          INTEGER,                -- 1: larger is better, 0: smaller is
  baseline_of     TEXT,                   -- the metric that this one is the baseline of
  main            INTEGER NOT NULL DEFAULT 0,  -- 1: runs are judged by it
  PRIMARY KEY(run, name)
) STRICT, WITHOUT ROWID;
