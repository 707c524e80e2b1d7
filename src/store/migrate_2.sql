-- Version 2 to 3: variation of utilisation. Older runs have none until wattlaw rebuild derives them.
-- How a quantity varied over the training of a run (first epoch-begin to last epoch-end, else the whole run): of the
-- devices that report it, over time and between them (wl_variation in src/stats). Coefficients are sd / mean.
CREATE TABLE variation(
  run             INTEGER NOT NULL REFERENCES run,
  quantity        TEXT NOT NULL,          -- sm_util_pct, mem_util_pct ... : a channel in %
  devices         INTEGER NOT NULL,
  instants        INTEGER NOT NULL,       -- at which they were read together
  mean            REAL,                   -- in %; lo and hi: 95 % intervals by a bootstrap over batches of instants
  mean_lo         REAL,
  mean_hi         REAL,
  cv_time         REAL,                   -- of a device over time, mean over devices
  cv_time_lo      REAL,
  cv_time_hi      REAL,
  cv_devices      REAL,                   -- between devices at one instant, mean over instants
  cv_devices_lo   REAL,
  cv_devices_hi   REAL,
  cv_pooled       REAL,                   -- of all readings
  cv_pooled_lo    REAL,
  cv_pooled_hi    REAL,
  simulated       INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(run, quantity)
) STRICT, WITHOUT ROWID;
