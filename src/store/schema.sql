-- The store of one or more campaigns, in the newest version (WL_STORE_VERSION). src/store/migrate.c brings older files to
-- it, step by step.
--
-- Conventions
--   * Facts (campaign ... log) are append-only; triggers (views.sql) refuse what would change them. Derived tables
--     (actual ... total) can be rebuilt from the facts at any time and are replaced run by run.
--   * NULL is "not measured" or "not set", never 0.
--   * Units are in the names: _ns nanoseconds, _s seconds, _j joules, _w watts, _mhz megahertz.
--   * *_mono_ns and t_ns are CLOCK_MONOTONIC of the run's host (comparable inside one boot_id only);
--     *_wall_ns are CLOCK_REALTIME since 1970 in UTC. A run has both at both ends, which ties the two clocks.
--   * estimated = 1: the number comes from a model, not from a meter. simulated = 1: there was no machine.

-- FACTS ------------------------------------------------------------------------------------------------------

-- A set of trials that belong together. `measure` puts its runs into the campaign named "measure".
CREATE TABLE campaign(
  id              INTEGER PRIMARY KEY,
  name            TEXT NOT NULL UNIQUE,
  created_wall_ns INTEGER NOT NULL
) STRICT;

-- The expanded experiment text a campaign was started with. Starting it again with another text (more repeats,
-- say) adds a row: the newest one counts, the older ones show what was run before.
CREATE TABLE experiment(
  id              INTEGER PRIMARY KEY,
  campaign        INTEGER NOT NULL REFERENCES campaign,
  created_wall_ns INTEGER NOT NULL,
  version         TEXT NOT NULL,          -- of wattlaw
  text            TEXT NOT NULL
) STRICT;

-- One configuration. NULL settings were not part of the sweep.
CREATE TABLE trial(
  id              INTEGER PRIMARY KEY,
  campaign        INTEGER NOT NULL REFERENCES campaign,
  key             TEXT NOT NULL,          -- canonical "name=value ..." of the settings that are set
  workload        TEXT,                   -- resnet50
  hardware        TEXT,                   -- as named by the experiment; NULL: see actual.hardware
  nodes           INTEGER,
  workers         INTEGER,                -- data-parallel ranks, all nodes together
  local_batch     INTEGER,                -- samples a worker takes per forward pass
  global_batch    INTEGER,                -- workers * local_batch * accumulation, samples an update
  accumulation    INTEGER,                -- forward passes an update
  epochs          INTEGER,
  threads         INTEGER,                -- CPU threads a worker
  power_cap_w     REAL,                   -- per device
  clock_mhz       REAL,                   -- SM clock locked at
  extra           TEXT,                   -- further settings, a JSON object with sorted names
  skipped         TEXT,                   -- why this configuration cannot run here; NULL: it can
  mem_clock_mhz   REAL,                   -- memory clock locked at
  module_cap_w    REAL,                   -- per module of CPU and GPU
  UNIQUE(campaign, key)
) STRICT;

-- One job. A repeat that failed or was interrupted may be tried again: a new row with the next attempt number.
CREATE TABLE run(
  id              INTEGER PRIMARY KEY,
  trial           INTEGER NOT NULL REFERENCES trial,
  repeat          INTEGER NOT NULL,       -- from 1
  attempt         INTEGER NOT NULL DEFAULT 1,
  seed            INTEGER,
  position        INTEGER,                -- place in the campaign's (random) order
  status          TEXT NOT NULL DEFAULT 'planned'
                  CHECK (status IN ('planned', 'running', 'done', 'failed', 'interrupted')),
  -- while it runs
  host            TEXT,
  boot_id         TEXT,                   -- /proc/sys/kernel/random/boot_id
  pid             INTEGER,                -- of the wattlaw that measures it
  folder          TEXT,                   -- its files (log, marks), relative to the store's folder
  command         TEXT,                   -- as given to the shell
  version         TEXT,                   -- of wattlaw
  start_mono_ns   INTEGER,
  start_wall_ns   INTEGER,
  -- how it ended
  stop_mono_ns    INTEGER,
  stop_wall_ns    INTEGER,
  exit_status     INTEGER,                -- NULL: ended by a signal, or unknown
  signal          INTEGER,
  error           TEXT,                   -- why it counts as failed or interrupted
  log_tail        TEXT,                   -- last lines of its log
  flag            TEXT,                   -- why its numbers must not be used (a cap was changed by others, say)
  -- how well it was measured
  sampling_asked_s REAL,                  -- period that was asked for
  sampling_period_s REAL,                 -- period achieved
  ticks           INTEGER,                -- sampling instants
  ticks_skipped   INTEGER,                -- instants that came too late and were left out
  samples_lost    INTEGER,                -- readings that found the ring full
  own_cpu_s       REAL,                   -- CPU time of the measuring itself
  idle_s          REAL,                   -- idle time before and after the job, for its idle power
  cooldown_c      REAL,                   -- it waited until no GPU was warmer; NULL: it did not wait, nor has the next three
  cooldown_s      REAL,                   -- how long that took
  begin_c         REAL,                   -- temperature of the hottest GPU after it; NULL: one is unknown
  not_cool        TEXT,                   -- why one was warmer, or may have been; NULL: none was
  slurm_plugin    TEXT,                   -- of Slurm, which meters its nodes; NULL: none, or not known: see slurm_why
  slurm_steps     TEXT,                   -- the steps of the job that were the run: "12.0 12.1"
  slurm_j         REAL,                   -- their ConsumedEnergyRaw, of whole nodes; a check, in no sum of ours
  slurm_period_s  REAL,                   -- how often Slurm samples; 0: at begin and end
  slurm_why       TEXT,                   -- why slurm_j is missing
  sampler_cpu     INTEGER,                -- that the measuring was bound to; NULL: none
  other_run       INTEGER,                -- 1: another wattlaw measured on its node meanwhile; 0: none did; NULL: not known
  training        TEXT,                   -- name of the training that it is a part of; NULL: of none
  stop_at         TEXT,                   -- limit at which it was to stop: "2 kWh"; NULL: none
  slurm_job       TEXT,                   -- id of the Slurm job that it ran in; NULL, as the next three: none
  slurm_account   TEXT,
  slurm_cluster   TEXT,
  slurm_partition TEXT,
  UNIQUE(trial, repeat, attempt)
) STRICT;

-- No repeat is planned, running or done twice.
CREATE UNIQUE INDEX run_once ON run(trial, repeat) WHERE status IN ('planned', 'running', 'done');
CREATE INDEX run_by_status ON run(status);

-- A run that was handed to a batch system. A planned run with a row that is not refused is in the queue, or its end has not been
-- collected yet. docs/adr/158
CREATE TABLE submission(
  id              INTEGER PRIMARY KEY,
  run             INTEGER NOT NULL REFERENCES run,
  launcher        TEXT NOT NULL,          -- slurm, command
  token           TEXT NOT NULL,          -- in the name of the job and of its output
  job             TEXT,                   -- id in the batch system; NULL: not known
  state           TEXT NOT NULL CHECK (state IN ('sent', 'waiting', 'running', 'ended', 'refused')),
  outcome         TEXT,                   -- of an ended one: done, failed, timeout, lost, cancelled, unknown
  why             TEXT,                   -- it waits, ended so, or was refused, in the batch system's words
  nodes           TEXT,                   -- that it ran on, as the batch system lists them: n[1-4]
  n_nodes         INTEGER NOT NULL,       -- asked for
  time_limit_s    REAL,                   -- asked for; NULL: the site's default
  script          TEXT,                   -- relative to the folder of the store, as the next two
  output          TEXT,                   -- of the script, %j for the job's id
  cancelled       INTEGER NOT NULL DEFAULT 0,-- 1: by wattlaw cancel
  shard           TEXT UNIQUE,            -- that was taken from it; NULL: none
  sent_wall_ns    INTEGER NOT NULL,
  ended_wall_ns   INTEGER                 -- when its end was seen
) STRICT;
CREATE INDEX submission_by_run ON submission(run);

-- Where the batch system put the job of a run. NULL: not known.
CREATE TABLE placement(
  run             INTEGER PRIMARY KEY REFERENCES run,
  nodes           TEXT,                   -- in the batch system's names, in their order: n1,n2
  switches        TEXT,                   -- lowest switches of the network that these are on: s1,s2
  queue_wait_s    REAL,                   -- from the submission to the start, by the batch system's clock
  other_jobs      TEXT                    -- jobs that were seen on these nodes at the begin or end: 12,17; '': none was
) STRICT;

-- What people asked a campaign for, in the order in which they did; kept as the log of who did what. docs/adr/177
CREATE TABLE control(
  id              INTEGER PRIMARY KEY,
  campaign        INTEGER NOT NULL REFERENCES campaign,
  action          TEXT NOT NULL CHECK (action IN ('pause', 'resume', 'cancel', 'retry')),
  run             INTEGER REFERENCES run, -- that is cancelled; that failed and is retried; NULL: the campaign
  asked_wall_ns   INTEGER NOT NULL,
  asked_by        TEXT NOT NULL,          -- user and host, or the address of a browser
  acted_wall_ns   INTEGER,                -- when it was acted upon; NULL: not yet
  outcome         TEXT                    -- cancel: status with which the run was closed; retry: its new attempt, "run 20"
) STRICT;
CREATE INDEX control_by_campaign ON control(campaign);
CREATE INDEX control_by_run ON control(run);

-- The files of other tools that a run was imported from. A run without a row here was measured by wattlaw.
CREATE TABLE source(
  id              INTEGER PRIMARY KEY,
  run             INTEGER NOT NULL REFERENCES run,
  format          TEXT NOT NULL,          -- as of --as: nvidia-smi, perun ...
  tool            TEXT,                   -- that measured, with its version, as far as the file says: "perun 0.9.1"
  path            TEXT NOT NULL,          -- absolute, when it was imported
  part            TEXT NOT NULL,          -- of the file: '' all, "round 1", "job 13077565"
  bytes           INTEGER NOT NULL,
  crc             INTEGER NOT NULL,       -- CRC-32C of the content and of what was selected of it; with `bytes`: imported once
  version         TEXT NOT NULL          -- of wattlaw
) STRICT;
CREATE INDEX source_by_run ON source(run);
CREATE INDEX source_by_content ON source(bytes, crc);

-- What was measured on. A device keeps its row over all runs.
CREATE TABLE device(
  id              INTEGER PRIMARY KEY,
  host            TEXT NOT NULL,
  uuid            TEXT NOT NULL,          -- "GPU-5f0a...", "rapl:package-0" ... stable on that host
  sensor          TEXT NOT NULL,          -- nvml, rapl, proc ...
  number          INTEGER,                -- index in the sensor's own order
  name            TEXT,                   -- product name
  info            TEXT,                   -- JSON object: bus id, driver, limits ...
  UNIQUE(host, uuid)
) STRICT;

-- A quantity of a device during one run.
CREATE TABLE channel(
  id              INTEGER PRIMARY KEY,
  run             INTEGER NOT NULL REFERENCES run,
  device          INTEGER NOT NULL REFERENCES device,
  quantity        TEXT NOT NULL,          -- power_w, energy_j, sm_util_pct ...
  unit            TEXT NOT NULL,          -- of sample.value
  scope           TEXT NOT NULL,          -- what the number covers: gpu, module, package ... (wl_scope in src/power)
  variant         TEXT NOT NULL,          -- of a power reading: instant, average, driver, mean; '' otherwise
  counter         INTEGER NOT NULL DEFAULT 0,  -- 1: grows; differences count
  estimated       INTEGER NOT NULL DEFAULT 0,
  simulated       INTEGER NOT NULL DEFAULT 0,
  -- how the sensor shows what it measures (struct wl_gauge in src/power); NULL: not known
  update_s        REAL,                   -- time between two of its updates
  window_s        REAL,                   -- that a reading is the mean of
  delay_s         REAL,                   -- age of what a reading shows
  calibrated      TEXT,                   -- UTC time of the calibration they are from; NULL: assumed, if known
  most_w          REAL,                   -- of power: the device's power limit
  UNIQUE(run, device, quantity, scope, variant)
) STRICT;

-- Readings, in the order of channel and time (docs/adr/050 says why plain rows).
CREATE TABLE sample(
  channel         INTEGER NOT NULL REFERENCES channel,
  t_ns            INTEGER NOT NULL,
  value           REAL,                   -- in channel.unit; NULL: the reading failed
  PRIMARY KEY(channel, t_ns)
) STRICT, WITHOUT ROWID;

-- The nodes of a run with the four stamps that tie their clocks. The first one has rank 0, and the times of the run are
-- those of its clock.
CREATE TABLE node(
  run             INTEGER NOT NULL REFERENCES run,
  host            TEXT NOT NULL,
  boot_id         TEXT NOT NULL,
  first           INTEGER NOT NULL,       -- 1: its clock is the run's
  start_mono_ns   INTEGER NOT NULL,       -- on its own clock, as it was measured there
  start_wall_ns   INTEGER NOT NULL,
  stop_mono_ns    INTEGER NOT NULL,
  stop_wall_ns    INTEGER NOT NULL,
  shift_ns        INTEGER NOT NULL,       -- was added to its t_ns to bring them onto the run's clock
  drift_s         REAL NOT NULL,          -- by how much its clock went apart from that one between start and stop
  PRIMARY KEY(run, host, boot_id)
) STRICT, WITHOUT ROWID;

-- A limit of a device during a run: asked for, found before, and read back at both ends. In W and MHz.
CREATE TABLE cap(
  run             INTEGER NOT NULL REFERENCES run,
  host            TEXT NOT NULL,
  device          TEXT NOT NULL,          -- "GPU-5f0a...", "rapl:package-0/long_term", "cpufreq:policy0"
  kind            TEXT NOT NULL,          -- power_cap_w, module_cap_w, clock_mhz, mem_clock_mhz
  name            TEXT,                   -- product name
  setter          TEXT NOT NULL,          -- nvml, rapl, cpufreq, command, observe ...
  requested       REAL NOT NULL,
  found           REAL,                   -- restored after the run; NULL: it was not locked
  enforced        REAL,                   -- read back before the job started; NULL: cannot be read
  at_end          REAL,                   -- and after its end
  simulated       INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(run, host, device, kind)
) STRICT, WITHOUT ROWID;

-- Mark lines of the workload, as written.
CREATE TABLE mark(
  id              INTEGER PRIMARY KEY,
  run             INTEGER NOT NULL REFERENCES run,
  t_ns            INTEGER NOT NULL,
  rank            INTEGER NOT NULL,
  word            TEXT NOT NULL,          -- start, epoch-begin, epoch-end, step, phase-begin, phase-end, phase, metric, define, stop
  fields          TEXT NOT NULL           -- "key=value ..." after the word
) STRICT;
CREATE INDEX mark_by_run ON mark(run, t_ns);

-- What wattlaw said about a campaign or a run.
CREATE TABLE log(
  id              INTEGER PRIMARY KEY,
  run             INTEGER REFERENCES run, -- NULL: the campaign as a whole
  wall_ns         INTEGER NOT NULL,
  level           TEXT NOT NULL,          -- error, warn, info, debug
  area            TEXT NOT NULL,
  message         TEXT NOT NULL
) STRICT;
CREATE INDEX log_by_run ON log(run);

-- DERIVED ----------------------------------------------------------------------------------------------------

-- What a run said about itself and its machine; fills the settings that the trial leaves open.
CREATE TABLE actual(
  run             INTEGER PRIMARY KEY REFERENCES run,
  workload        TEXT,
  hardware        TEXT,
  nodes           INTEGER,
  workers         INTEGER,
  local_batch     INTEGER,
  global_batch    INTEGER,
  accumulation    INTEGER,
  epochs          INTEGER,
  threads         INTEGER,
  power_cap_w     REAL,
  clock_mhz       REAL,
  extra           TEXT,
  mem_clock_mhz   REAL,
  module_cap_w    REAL
) STRICT;

-- An epoch: rank 0's epoch-begin to epoch-end, the training pass alone.
CREATE TABLE epoch(
  run             INTEGER NOT NULL REFERENCES run,
  epoch           INTEGER NOT NULL,       -- from 1
  begin_ns        INTEGER,                -- CLOCK_MONOTONIC; NULL where only the duration is known
  end_ns          INTEGER,
  time_s          REAL NOT NULL,
  samples         INTEGER,                -- of all workers together
  updates         INTEGER,
  tokens          INTEGER,
  PRIMARY KEY(run, epoch)
) STRICT, WITHOUT ROWID;

-- Parts of a run that steps and checkpoints give. 'steps': from the first step mark to the last one, the work of a run
-- without epochs; 'unsaved': from its last checkpoint (without one from its start) to its end, what a run that failed has
-- to repeat.
CREATE TABLE span(
  run             INTEGER NOT NULL REFERENCES run,
  kind            TEXT NOT NULL CHECK (kind IN ('steps', 'unsaved')),
  begin_ns        INTEGER NOT NULL,                -- CLOCK_MONOTONIC
  end_ns          INTEGER NOT NULL,
  time_s          REAL NOT NULL,
  steps           INTEGER,                -- optimizer steps in it
  samples         INTEGER,                -- of all workers together
  tokens          INTEGER,
  energy_j        REAL,                   -- of the chosen devices; NULL: see why
  energy_lo_j     REAL,                   -- 95 % interval
  energy_hi_j     REAL,
  estimated       INTEGER NOT NULL DEFAULT 0,
  simulated       INTEGER NOT NULL DEFAULT 0,
  why             TEXT,                   -- why energy_j is NULL
  PRIMARY KEY(run, kind)
) STRICT, WITHOUT ROWID;

-- Energy of one device over an epoch or the whole run. Scopes may overlap (psys contains package): `chosen`
-- marks the rows that do not and whose sum is energy_j of the run (wl_energy_sources in src/power). The method is chosen
-- for each window: of one run the epochs may have others than the whole.
CREATE TABLE energy(
  id              INTEGER PRIMARY KEY,
  run             INTEGER NOT NULL REFERENCES run,
  epoch           INTEGER,                -- NULL: the whole run
  device          INTEGER NOT NULL REFERENCES device,
  scope           TEXT NOT NULL,          -- as of the channel
  method          TEXT NOT NULL CHECK (method IN ('counter', 'integral', 'combined')),
  energy_j        REAL,                   -- with holes, which widen the interval; NULL where they are more than half
  mean_power_w    REAL,                   -- of the part that readings cover
  coverage        REAL,                   -- that part of the span, 0..1
  estimated       INTEGER NOT NULL DEFAULT 0,
  simulated       INTEGER NOT NULL DEFAULT 0,
  chosen          INTEGER NOT NULL DEFAULT 0,
  energy_lo_j     REAL,                   -- 95 % interval of energy_j
  energy_hi_j     REAL,
  idle_before_w   REAL,                   -- mean power of the idle device, before and after the job
  idle_after_w    REAL,
  idle_j          REAL,                   -- what it would have drawn at rest; energy_j - idle_j is above idle
  why             TEXT                    -- why energy_j is NULL
) STRICT;
CREATE UNIQUE INDEX energy_once ON energy(run, ifnull(epoch, 0), device, scope, method);

-- Energy of one device over all spans of a phase that rank 0 marked (load, validate ...), each with the method that is
-- chosen for it; 'combined' where they differ. Phases may lie inside epochs and inside each other.
CREATE TABLE phase_energy(
  run             INTEGER NOT NULL REFERENCES run,
  phase           TEXT NOT NULL,
  device          INTEGER NOT NULL REFERENCES device,
  scope           TEXT NOT NULL,
  method          TEXT NOT NULL,
  spans           INTEGER NOT NULL,
  time_s          REAL NOT NULL,          -- of all spans
  energy_j        REAL,
  energy_lo_j     REAL,                   -- 95 % interval
  energy_hi_j     REAL,
  estimated       INTEGER NOT NULL DEFAULT 0,
  simulated       INTEGER NOT NULL DEFAULT 0,
  why             TEXT,                   -- why energy_j is NULL
  PRIMARY KEY(run, phase, device, scope)
) STRICT, WITHOUT ROWID;

-- Numbers the workload reported: val_top1, train_loss, lr ...
CREATE TABLE metric(
  id              INTEGER PRIMARY KEY,
  run             INTEGER NOT NULL REFERENCES run,
  epoch           INTEGER,                -- NULL: the whole run
  name            TEXT NOT NULL,
  value           REAL
) STRICT;
CREATE UNIQUE INDEX metric_once ON metric(run, ifnull(epoch, 0), name);

-- What the workload said its metrics are.
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

-- A channel over an epoch or the whole run.
CREATE TABLE stat(
  id              INTEGER PRIMARY KEY,
  channel         INTEGER NOT NULL REFERENCES channel,
  epoch           INTEGER,                -- NULL: the whole run
  readings        INTEGER NOT NULL,
  mean            REAL,                   -- all in channel.unit; mean weighted by time; of a counter its rate, unit/s
  sd              REAL,
  min             REAL,
  max             REAL,
  period_s        REAL                    -- mean time between its good readings
) STRICT;
CREATE UNIQUE INDEX stat_once ON stat(channel, ifnull(epoch, 0));

-- What tables of runs and epochs show, gathered from the tables above so that no query has to add up devices: the
-- rows of the view total_now, which says how.
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
  power_capped_pct REAL,                  -- time in which the power limit held the clock down; mean over GPUs
  thermal_capped_pct REAL,                -- the same of the temperature
  energy_lo_j     REAL,                   -- sums of the devices' intervals: their errors may go together
  energy_hi_j     REAL,
  idle_j          REAL,
  achieved_clock_mhz REAL,                -- SM clock that the GPUs ran at, mean over time and GPUs
  achieved_mem_clock_mhz REAL,            -- and their memory clock
  power_cap_acted_pct REAL,               -- of a run: share of its power caps that acted (view capped); NULL: none, or not seen
  clock_acted_pct REAL,                   -- the same of locked SM clocks
  mem_clock_acted_pct REAL,               -- and of locked memory clocks
  module_cap_acted_pct REAL,              -- and of power caps of modules
  PRIMARY KEY(run, epoch)
) STRICT, WITHOUT ROWID;

-- What others did on the machine during a run. CPU time is in seconds summed over CPUs (and nodes).
CREATE TABLE load(
  run             INTEGER PRIMARY KEY REFERENCES run,
  busy_cpu_s      REAL,                   -- CPU time that was used on the machine
  job_cpu_s       REAL,                   -- by the job
  other_cpu_s     REAL,                   -- by others: without the job and without the measuring
  cpus            REAL,                   -- online
  job_cpus        REAL,                   -- that the job may use
  runnable        REAL,                   -- tasks that run or wait for a CPU, mean
  idle_other_cpus REAL,                   -- CPUs that were busy while the idle machine was measured, mean
  gpu_processes   REAL,                   -- most processes of others that were on a GPU of the job
  busy            TEXT,                   -- why its numbers are not of the job alone; NULL: they are, or see why
  why             TEXT                    -- why that is not known
) STRICT;

-- The job's part of the energy of each chosen device over a run (src/energy/attribution.h).
CREATE TABLE attribution(
  run             INTEGER NOT NULL REFERENCES run,
  device          INTEGER NOT NULL REFERENCES device,
  scope           TEXT NOT NULL,          -- as of energy
  method          TEXT NOT NULL,          -- cpu-time, gpu-processes, sole-user, none
  use_share       REAL,                   -- the job's part of the use of the device, 0 to 1
  reserved        REAL,                   -- share that it had reserved, and pays the idle energy of
  energy_j        REAL,                   -- the job's: above_j + idle_j; NULL: see why
  energy_lo_j     REAL,                   -- 95 % interval, which may be known where energy_j is not
  energy_hi_j     REAL,
  above_j         REAL,                   -- above idle, shared by use
  above_lo_j      REAL,
  above_hi_j      REAL,
  idle_j          REAL,                   -- idle, shared by reservation
  simulated       INTEGER NOT NULL DEFAULT 0,-- all are estimates
  why             TEXT,                   -- why energy_j is NULL
  PRIMARY KEY(run, device, scope)
) STRICT, WITHOUT ROWID;

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
