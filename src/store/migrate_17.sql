-- Version 17 to 18: the training that a run belongs to, its limit, its Slurm job; steps and tokens as work, and what was
-- not saved. Older runs have spans after wattlaw rebuild.
ALTER TABLE run ADD COLUMN training TEXT;
ALTER TABLE run ADD COLUMN stop_at TEXT;
ALTER TABLE run ADD COLUMN slurm_job TEXT;
ALTER TABLE run ADD COLUMN slurm_account TEXT;
ALTER TABLE run ADD COLUMN slurm_cluster TEXT;
ALTER TABLE run ADD COLUMN slurm_partition TEXT;
ALTER TABLE epoch ADD COLUMN tokens INTEGER;
CREATE TABLE span(
  run             INTEGER NOT NULL REFERENCES run,
  kind            TEXT NOT NULL CHECK (kind IN ('steps', 'unsaved')),
  begin_ns        INTEGER NOT NULL,
  end_ns          INTEGER NOT NULL,
  time_s          REAL NOT NULL,
  steps           INTEGER,
  samples         INTEGER,
  tokens          INTEGER,
  energy_j        REAL,
  energy_lo_j     REAL,
  energy_hi_j     REAL,
  estimated       INTEGER NOT NULL DEFAULT 0,
  simulated       INTEGER NOT NULL DEFAULT 0,
  why             TEXT,
  PRIMARY KEY(run, kind)
) STRICT, WITHOUT ROWID;
