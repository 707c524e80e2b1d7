-- Version 16 to 17: the job's part of the energy of a machine. Older runs have rows after wattlaw rebuild.
CREATE TABLE attribution(
  run             INTEGER NOT NULL REFERENCES run,
  device          INTEGER NOT NULL REFERENCES device,
  scope           TEXT NOT NULL,
  method          TEXT NOT NULL,
  use_share       REAL,
  reserved        REAL,
  energy_j        REAL,
  energy_lo_j     REAL,
  energy_hi_j     REAL,
  above_j         REAL,
  above_lo_j      REAL,
  above_hi_j      REAL,
  idle_j          REAL,
  simulated       INTEGER NOT NULL DEFAULT 0,
  why             TEXT,
  PRIMARY KEY(run, device, scope)
) STRICT, WITHOUT ROWID;
