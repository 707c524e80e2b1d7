-- Version 15 to 16: what others did on the machine during a run. Older runs have a row after wattlaw rebuild.
ALTER TABLE run ADD COLUMN other_run INTEGER;
CREATE TABLE load(
  run             INTEGER PRIMARY KEY REFERENCES run,
  busy_cpu_s      REAL,
  job_cpu_s       REAL,
  other_cpu_s     REAL,
  cpus            REAL,
  job_cpus        REAL,
  runnable        REAL,
  idle_other_cpus REAL,
  gpu_processes   REAL,
  busy            TEXT,
  why             TEXT
) STRICT;
