-- Version 14 to 15: energies by counter and integral together, why an energy is missing, how often a channel was read.
CREATE TABLE energy_before AS SELECT * FROM energy;
DROP TABLE energy;
CREATE TABLE energy(
  id              INTEGER PRIMARY KEY,
  run             INTEGER NOT NULL REFERENCES run,
  epoch           INTEGER,
  device          INTEGER NOT NULL REFERENCES device,
  scope           TEXT NOT NULL,
  method          TEXT NOT NULL CHECK (method IN ('counter', 'integral', 'combined')),
  energy_j        REAL,
  mean_power_w    REAL,
  coverage        REAL,
  estimated       INTEGER NOT NULL DEFAULT 0,
  simulated       INTEGER NOT NULL DEFAULT 0,
  chosen          INTEGER NOT NULL DEFAULT 0,
  energy_lo_j     REAL,
  energy_hi_j     REAL,
  idle_before_w   REAL,
  idle_after_w    REAL,
  idle_j          REAL,
  why             TEXT
) STRICT;
INSERT INTO energy SELECT *, NULL FROM energy_before;
DROP TABLE energy_before;
CREATE UNIQUE INDEX energy_once ON energy(run, ifnull(epoch, 0), device, scope, method);
ALTER TABLE phase_energy ADD COLUMN why TEXT;
ALTER TABLE stat ADD COLUMN period_s REAL;
