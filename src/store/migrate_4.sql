-- Version 4 to 5: intervals of energies, power at rest, energies of phases, how sensors show what they measure. Older
-- runs have none until wattlaw rebuild derives them.
ALTER TABLE channel ADD COLUMN window_s REAL;
ALTER TABLE channel ADD COLUMN delay_s REAL;
ALTER TABLE run ADD COLUMN idle_s REAL;
ALTER TABLE energy ADD COLUMN energy_lo_j REAL;
ALTER TABLE energy ADD COLUMN energy_hi_j REAL;
ALTER TABLE energy ADD COLUMN idle_before_w REAL;
ALTER TABLE energy ADD COLUMN idle_after_w REAL;
ALTER TABLE energy ADD COLUMN idle_j REAL;
ALTER TABLE total ADD COLUMN energy_lo_j REAL;
ALTER TABLE total ADD COLUMN energy_hi_j REAL;
ALTER TABLE total ADD COLUMN idle_j REAL;
CREATE TABLE phase_energy(
  run             INTEGER NOT NULL REFERENCES run,
  phase           TEXT NOT NULL,
  device          INTEGER NOT NULL REFERENCES device,
  scope           TEXT NOT NULL,
  method          TEXT NOT NULL,
  spans           INTEGER NOT NULL,
  time_s          REAL NOT NULL,
  energy_j        REAL,
  energy_lo_j     REAL,
  energy_hi_j     REAL,
  estimated       INTEGER NOT NULL DEFAULT 0,
  simulated       INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(run, phase, device, scope)
) STRICT, WITHOUT ROWID;
