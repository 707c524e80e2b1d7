-- Views and triggers: they hold no data and are made anew whenever the schema changes.

-- Energy of a run (epoch NULL) or epoch: the sum over the chosen devices, NULL as soon as one of them is missing.
CREATE VIEW energy_total AS
SELECT run, epoch,
       CASE WHEN count(energy_j) = count(*) THEN sum(energy_j) END AS energy_j,
       CASE WHEN count(mean_power_w) = count(*) THEN sum(mean_power_w) END AS mean_power_w,
       min(coverage)  AS coverage,
       max(estimated) AS estimated,
       max(simulated) AS simulated
FROM energy
WHERE chosen = 1
GROUP BY run, ifnull(epoch, 0);

-- Settings of a run: what the trial asked for, else what the run said.
CREATE VIEW setting AS
SELECT r.id AS run, t.id AS trial, t.campaign AS campaign,
       coalesce(t.workload, a.workload)         AS workload,
       coalesce(t.hardware, a.hardware)         AS hardware,
       coalesce(t.nodes, a.nodes)               AS nodes,
       coalesce(t.workers, a.workers)           AS workers,
       coalesce(t.local_batch, a.local_batch)   AS local_batch,
       coalesce(t.global_batch, a.global_batch) AS global_batch,
       coalesce(t.accumulation, a.accumulation) AS accumulation,
       coalesce(t.epochs, a.epochs)             AS epochs,
       coalesce(t.threads, a.threads)           AS threads,
       coalesce(t.power_cap_w, a.power_cap_w)   AS power_cap_w,
       coalesce(t.clock_mhz, a.clock_mhz)       AS clock_mhz,
       coalesce(t.extra, a.extra)               AS extra
FROM run r JOIN trial t ON t.id = r.trial LEFT JOIN actual a ON a.run = r.id;

-- The one metric of an epoch (or, with epoch NULL, a run) that tables show: quality on held-out data before
-- quality in training, rates before losses.
CREATE VIEW main_metric AS
SELECT run, epoch, name, value, min(CASE name
         WHEN 'val_top1' THEN 1 WHEN 'val_accuracy' THEN 2 WHEN 'val_loss' THEN 3
         WHEN 'train_top1' THEN 4 WHEN 'train_accuracy' THEN 5 WHEN 'train_loss' THEN 6 WHEN 'loss' THEN 7
         ELSE 8 END) AS place
FROM metric
GROUP BY run, ifnull(epoch, 0);

-- The observation table (docs/formats.md): a row an epoch, or a run that told of no epoch. Runs that are done and
-- not flagged.
CREATE VIEW observations AS
SELECT s.workload, s.hardware, s.nodes, s.workers, s.local_batch, s.global_batch, s.power_cap_w, s.clock_mhz,
       r.id AS run, e.epoch AS epoch,
       CASE WHEN e.run IS NULL THEN (r.stop_mono_ns - r.start_mono_ns) / 1e9 ELSE e.time_s END AS time_s,
       j.energy_j, e.samples, e.updates, m.name AS metric, m.value AS metric_value,
       ifnull(j.estimated, 0) AS estimated,
       ifnull(j.simulated, 0) AS simulated
FROM run r
JOIN setting s ON s.run = r.id
LEFT JOIN epoch e ON e.run = r.id
LEFT JOIN energy_total j ON j.run = r.id AND j.epoch IS e.epoch
LEFT JOIN main_metric m ON m.run = r.id AND m.epoch IS e.epoch
WHERE r.status = 'done' AND r.flag IS NULL;
