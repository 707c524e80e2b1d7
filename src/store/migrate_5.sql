-- Version 5 to 6: memory clocks as settings, caps as rows, the clocks of a run's nodes. An older run on one node has
-- its own time stamps; those of a merged run are in its log only.
ALTER TABLE trial ADD COLUMN mem_clock_mhz REAL;
ALTER TABLE actual ADD COLUMN mem_clock_mhz REAL;
ALTER TABLE total ADD COLUMN achieved_clock_mhz REAL;
ALTER TABLE total ADD COLUMN achieved_mem_clock_mhz REAL;
ALTER TABLE total ADD COLUMN caps_acted_pct REAL;
CREATE TABLE node(
  run             INTEGER NOT NULL REFERENCES run,
  host            TEXT NOT NULL,
  boot_id         TEXT NOT NULL,
  first           INTEGER NOT NULL,
  start_mono_ns   INTEGER NOT NULL,
  start_wall_ns   INTEGER NOT NULL,
  stop_mono_ns    INTEGER NOT NULL,
  stop_wall_ns    INTEGER NOT NULL,
  shift_ns        INTEGER NOT NULL,
  drift_s         REAL NOT NULL,
  PRIMARY KEY(run, host, boot_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE cap(
  run             INTEGER NOT NULL REFERENCES run,
  host            TEXT NOT NULL,
  device          TEXT NOT NULL,
  kind            TEXT NOT NULL,
  name            TEXT,
  setter          TEXT NOT NULL,
  requested       REAL NOT NULL,
  found           REAL,
  enforced        REAL,
  at_end          REAL,
  simulated       INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(run, host, device, kind)
) STRICT, WITHOUT ROWID;
