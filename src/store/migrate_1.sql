-- Version 1 to 2: totals of runs and epochs, which each query had to add up from all devices before.
CREATE TABLE total(
  run             INTEGER NOT NULL REFERENCES run,
  epoch           INTEGER NOT NULL,       -- 0: the whole run
  energy_j        REAL,                   -- of the chosen devices; NULL as soon as one of them is missing
  mean_power_w    REAL,
  coverage        REAL,                   -- the lowest of them
  estimated       INTEGER NOT NULL,       -- of that energy
  simulated       INTEGER NOT NULL,
  util_pct        REAL,                   -- busy time of the GPUs, else of the CPUs; mean over devices
  metric          TEXT,                   -- the main metric; of a run its last value
  metric_value    REAL,
  PRIMARY KEY(run, epoch)
) STRICT, WITHOUT ROWID;
