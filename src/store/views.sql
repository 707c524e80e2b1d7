-- Views and triggers: they hold no data and are made anew whenever the schema changes.

-- Settings of a run: what the trial asked for, else what the run said. A negative count of a run, as older versions stored
-- it, is missing. `extra` is one text here; readers merge both by name (wl_settings_merge_extra), since the functions of
-- SQLite for JSON are closed to views.
CREATE VIEW setting AS
SELECT r.id AS run, t.id AS trial, t.campaign AS campaign,
       coalesce(t.workload, a.workload)         AS workload,
       coalesce(t.hardware, a.hardware)         AS hardware,
       coalesce(t.nodes, CASE WHEN a.nodes > 0 THEN a.nodes END) AS nodes,
       coalesce(t.workers, CASE WHEN a.workers > 0 THEN a.workers END) AS workers,
       coalesce(t.local_batch, CASE WHEN a.local_batch > 0 THEN a.local_batch END) AS local_batch,
       coalesce(t.global_batch, CASE WHEN a.global_batch > 0 THEN a.global_batch END) AS global_batch,
       coalesce(t.accumulation, CASE WHEN a.accumulation > 0 THEN a.accumulation END) AS accumulation,
       coalesce(t.epochs, CASE WHEN a.epochs > 0 THEN a.epochs END) AS epochs,
       coalesce(t.threads, CASE WHEN a.threads > 0 THEN a.threads END) AS threads,
       coalesce(t.power_cap_w, a.power_cap_w)   AS power_cap_w,
       coalesce(t.module_cap_w, a.module_cap_w) AS module_cap_w,
       coalesce(t.clock_mhz, a.clock_mhz)       AS clock_mhz,
       coalesce(t.mem_clock_mhz, a.mem_clock_mhz) AS mem_clock_mhz,
       coalesce(t.extra, a.extra)               AS extra
FROM run r JOIN trial t ON t.id = r.trial LEFT JOIN actual a ON a.run = r.id;

-- The place of a metric among those of a run: quality on held-out data before quality in training, rates before
-- losses; before all of them the one that the workload named as its main one, and after them baselines. The first one is
-- the main metric.
CREATE VIEW ranked_metric AS
SELECT m.id, m.run, ifnull(m.epoch, 0) AS epoch, m.name, m.value,
       CASE WHEN d.main THEN 0 WHEN d.baseline_of IS NOT NULL THEN 9 ELSE
         CASE m.name WHEN 'val_top1' THEN 1 WHEN 'val_accuracy' THEN 2 WHEN 'val_loss' THEN 3
                   WHEN 'train_top1' THEN 4 WHEN 'train_accuracy' THEN 5 WHEN 'train_loss' THEN 6 WHEN 'loss' THEN 7
                   ELSE 8 END END AS place
FROM metric m LEFT JOIN metric_def d ON d.run = m.run AND d.name = m.name;

-- What each capped device did over its run. The limits of one device (a RAPL package has two) share its readings; the
-- power of a GPU, of its memory and of its module are three readings, of which a cap limits one. A cap acted where what
-- it limits came within 5 % of it, or the driver says that it held the GPU's clock down; NULL: not seen.
CREATE VIEW capped AS
SELECT run, host, device, kind, name, setter, requested, found, enforced, at_end, simulated, achieved, achieved_max,
       held_pct,
       CASE WHEN achieved_max >= 0.95 * requested OR achieved >= 0.95 * requested OR (kind = 'power_cap_w' AND held_pct > 0)
            THEN 1 WHEN achieved_max IS NOT NULL THEN 0 END AS acted
FROM (SELECT k.*,
             coalesce((SELECT avg(u.mean) FROM channel c JOIN stat u ON u.channel = c.id AND u.epoch IS NULL
                       WHERE c.run = k.run AND c.device = d.id AND c.quantity = q.quantity
                         AND c.scope <> 'gpu-memory' AND (c.scope = 'module') = q.of_module),
                      CASE WHEN q.quantity = 'power_w' THEN (SELECT avg(j.mean_power_w) FROM energy j
                       WHERE j.run = k.run AND j.device = d.id AND j.epoch IS NULL
                         AND j.scope <> 'gpu-memory' AND (j.scope = 'module') = q.of_module) END) AS achieved,
             (SELECT max(u.max) FROM channel c JOIN stat u ON u.channel = c.id AND u.epoch IS NULL
              WHERE c.run = k.run AND c.device = d.id AND c.quantity = q.quantity
                AND c.scope <> 'gpu-memory' AND (c.scope = 'module') = q.of_module) AS achieved_max,
             (SELECT 100 * avg(u.mean) FROM channel c JOIN stat u ON u.channel = c.id AND u.epoch IS NULL
              WHERE c.run = k.run AND c.device = d.id AND c.quantity = 'power_capped_s') AS held_pct
      FROM cap k
      JOIN (SELECT 'power_cap_w' AS kind, 'power_w' AS quantity, 0 AS of_module
            UNION ALL SELECT 'module_cap_w', 'power_w', 1 UNION ALL SELECT 'clock_mhz', 'sm_clock_mhz', 0
            UNION ALL SELECT 'mem_clock_mhz', 'mem_clock_mhz', 0) q ON q.kind = k.kind
      LEFT JOIN device d ON d.host = k.host AND d.uuid = substr(k.device, 1, instr(k.device || '/', '/') - 1));

-- The rows that the table `total` keeps: each run (epoch 0) and each epoch, from energy, stat and metric.
CREATE VIEW total_now AS
SELECT x.run, x.epoch,
       (SELECT CASE WHEN count(energy_j) = count(*) THEN sum(energy_j) END FROM energy j
        WHERE j.run = x.run AND ifnull(j.epoch, 0) = x.epoch AND j.chosen) AS energy_j,
       (SELECT CASE WHEN count(mean_power_w) = count(*) THEN sum(mean_power_w) END FROM energy j
        WHERE j.run = x.run AND ifnull(j.epoch, 0) = x.epoch AND j.chosen) AS mean_power_w,
       (SELECT min(coverage) FROM energy j
        WHERE j.run = x.run AND ifnull(j.epoch, 0) = x.epoch AND j.chosen) AS coverage,
       (SELECT ifnull(max(estimated), 0) FROM energy j
        WHERE j.run = x.run AND ifnull(j.epoch, 0) = x.epoch AND j.chosen) AS estimated,
       (SELECT ifnull(max(simulated), 0) FROM energy j
        WHERE j.run = x.run AND ifnull(j.epoch, 0) = x.epoch AND j.chosen) AS simulated,
       coalesce((SELECT avg(u.mean) FROM channel c JOIN stat u ON u.channel = c.id AND ifnull(u.epoch, 0) = x.epoch
                 WHERE c.run = x.run AND c.quantity = 'sm_util_pct'),
                (SELECT avg(u.mean) FROM channel c JOIN stat u ON u.channel = c.id AND ifnull(u.epoch, 0) = x.epoch
                 WHERE c.run = x.run AND c.quantity = 'cpu_util_pct')) AS util_pct,
       m.name AS metric, m.value AS metric_value,
       (SELECT 100 * avg(u.mean) FROM channel c JOIN stat u ON u.channel = c.id AND ifnull(u.epoch, 0) = x.epoch
        WHERE c.run = x.run AND c.quantity = 'power_capped_s') AS power_capped_pct,
       (SELECT 100 * avg(u.mean) FROM channel c JOIN stat u ON u.channel = c.id AND ifnull(u.epoch, 0) = x.epoch
        WHERE c.run = x.run AND c.quantity = 'thermal_capped_s') AS thermal_capped_pct,
       (SELECT CASE WHEN count(energy_lo_j) = count(*) THEN sum(energy_lo_j) END FROM energy j
        WHERE j.run = x.run AND ifnull(j.epoch, 0) = x.epoch AND j.chosen) AS energy_lo_j,
       (SELECT CASE WHEN count(energy_hi_j) = count(*) THEN sum(energy_hi_j) END FROM energy j
        WHERE j.run = x.run AND ifnull(j.epoch, 0) = x.epoch AND j.chosen) AS energy_hi_j,
       (SELECT CASE WHEN count(idle_j) = count(*) THEN sum(idle_j) END FROM energy j
        WHERE j.run = x.run AND ifnull(j.epoch, 0) = x.epoch AND j.chosen) AS idle_j,
       (SELECT avg(u.mean) FROM channel c JOIN stat u ON u.channel = c.id AND ifnull(u.epoch, 0) = x.epoch
        WHERE c.run = x.run AND c.quantity = 'sm_clock_mhz') AS achieved_clock_mhz,
       (SELECT avg(u.mean) FROM channel c JOIN stat u ON u.channel = c.id AND ifnull(u.epoch, 0) = x.epoch
        WHERE c.run = x.run AND c.quantity = 'mem_clock_mhz') AS achieved_mem_clock_mhz,
       CASE WHEN x.epoch = 0 THEN (SELECT 100 * avg(acted) FROM capped p WHERE p.run = x.run AND p.kind = 'power_cap_w') END
         AS power_cap_acted_pct,
       CASE WHEN x.epoch = 0 THEN (SELECT 100 * avg(acted) FROM capped p WHERE p.run = x.run AND p.kind = 'clock_mhz') END
         AS clock_acted_pct,
       CASE WHEN x.epoch = 0 THEN (SELECT 100 * avg(acted) FROM capped p WHERE p.run = x.run AND p.kind = 'mem_clock_mhz') END
         AS mem_clock_acted_pct,
       CASE WHEN x.epoch = 0 THEN (SELECT 100 * avg(acted) FROM capped p WHERE p.run = x.run AND p.kind = 'module_cap_w') END
         AS module_cap_acted_pct
FROM (SELECT id AS run, 0 AS epoch FROM run UNION ALL SELECT run, epoch FROM epoch) x
LEFT JOIN metric m ON m.id =
  CASE WHEN x.epoch THEN (SELECT id FROM ranked_metric k WHERE k.run = x.run AND k.epoch = x.epoch
                          ORDER BY k.place, k.name LIMIT 1)
       ELSE (SELECT id FROM ranked_metric k WHERE k.run = x.run ORDER BY k.place, k.name, k.epoch DESC LIMIT 1) END;

-- The observation table (docs/formats.md): one row per epoch, or per run without marks of epochs: its steps from the first
-- to the last one where it marked steps, else all of it. Runs that are done and not flagged.
CREATE VIEW observations AS
SELECT s.workload, s.hardware, s.nodes, s.workers, s.local_batch, s.global_batch, s.power_cap_w, s.clock_mhz,
       r.id AS run, e.epoch AS epoch,
       CASE WHEN e.run IS NOT NULL THEN e.time_s WHEN p.run IS NOT NULL THEN p.time_s
            ELSE (r.stop_mono_ns - r.start_mono_ns) / 1e9 END AS time_s,
       CASE WHEN p.run IS NULL THEN x.energy_j ELSE p.energy_j END AS energy_j,
       coalesce(e.samples, p.samples) AS samples, coalesce(e.updates, p.steps) AS updates, x.metric, x.metric_value,
       ifnull(x.estimated, 0) AS estimated,
       ifnull(x.simulated, 0) AS simulated
FROM run r
JOIN setting s ON s.run = r.id
LEFT JOIN epoch e ON e.run = r.id
LEFT JOIN span p ON e.run IS NULL AND p.run = r.id AND p.kind = 'steps'
LEFT JOIN total x ON x.run = r.id AND x.epoch = ifnull(e.epoch, 0)
WHERE r.status = 'done' AND r.flag IS NULL;

-- Facts stay as they were written. -------------------------------------------------------------------------------

CREATE TRIGGER campaign_keeps BEFORE UPDATE ON campaign BEGIN SELECT raise(ABORT, 'campaign is append-only'); END;
CREATE TRIGGER campaign_stays BEFORE DELETE ON campaign BEGIN SELECT raise(ABORT, 'campaign is append-only'); END;
CREATE TRIGGER experiment_keeps BEFORE UPDATE ON experiment BEGIN SELECT raise(ABORT, 'experiment is append-only'); END;
CREATE TRIGGER experiment_stays BEFORE DELETE ON experiment BEGIN SELECT raise(ABORT, 'experiment is append-only'); END;
CREATE TRIGGER device_keeps BEFORE UPDATE ON device BEGIN SELECT raise(ABORT, 'device is append-only'); END;
CREATE TRIGGER device_stays BEFORE DELETE ON device BEGIN SELECT raise(ABORT, 'device is append-only'); END;
CREATE TRIGGER channel_keeps BEFORE UPDATE ON channel BEGIN SELECT raise(ABORT, 'channel is append-only'); END;
CREATE TRIGGER channel_stays BEFORE DELETE ON channel BEGIN SELECT raise(ABORT, 'channel is append-only'); END;
CREATE TRIGGER sample_keeps BEFORE UPDATE ON sample BEGIN SELECT raise(ABORT, 'sample is append-only'); END;
CREATE TRIGGER sample_stays BEFORE DELETE ON sample BEGIN SELECT raise(ABORT, 'sample is append-only'); END;
CREATE TRIGGER mark_keeps BEFORE UPDATE ON mark BEGIN SELECT raise(ABORT, 'mark is append-only'); END;
CREATE TRIGGER mark_stays BEFORE DELETE ON mark BEGIN SELECT raise(ABORT, 'mark is append-only'); END;
CREATE TRIGGER node_keeps BEFORE UPDATE ON node BEGIN SELECT raise(ABORT, 'node is append-only'); END;
CREATE TRIGGER node_stays BEFORE DELETE ON node BEGIN SELECT raise(ABORT, 'node is append-only'); END;
CREATE TRIGGER placement_keeps BEFORE UPDATE ON placement BEGIN SELECT raise(ABORT, 'placement is append-only'); END;
CREATE TRIGGER placement_stays BEFORE DELETE ON placement BEGIN SELECT raise(ABORT, 'placement is append-only'); END;
CREATE TRIGGER cap_keeps BEFORE UPDATE ON cap BEGIN SELECT raise(ABORT, 'cap is append-only'); END;
CREATE TRIGGER cap_stays BEFORE DELETE ON cap BEGIN SELECT raise(ABORT, 'cap is append-only'); END;
CREATE TRIGGER source_keeps BEFORE UPDATE ON source BEGIN SELECT raise(ABORT, 'source is append-only'); END;
CREATE TRIGGER source_stays BEFORE DELETE ON source BEGIN SELECT raise(ABORT, 'source is append-only'); END;
CREATE TRIGGER log_keeps BEFORE UPDATE ON log BEGIN SELECT raise(ABORT, 'log is append-only'); END;
CREATE TRIGGER log_stays BEFORE DELETE ON log BEGIN SELECT raise(ABORT, 'log is append-only'); END;

-- A trial only learns whether it can run here.
CREATE TRIGGER trial_keeps BEFORE UPDATE OF id, campaign, key, workload, hardware, nodes, workers, local_batch,
  global_batch, accumulation, epochs, threads, power_cap_w, clock_mhz, mem_clock_mhz, module_cap_w,
  extra ON trial
  BEGIN SELECT raise(ABORT, 'the settings of a trial are append-only'); END;
CREATE TRIGGER trial_stays BEFORE DELETE ON trial BEGIN SELECT raise(ABORT, 'trial is append-only'); END;

-- A run is closed once, and goes planned -> running -> done, failed or interrupted.
CREATE TRIGGER run_closed BEFORE UPDATE ON run WHEN OLD.status IN ('done', 'failed', 'interrupted')
  BEGIN SELECT raise(ABORT, 'the run is closed'); END;
CREATE TRIGGER run_keeps BEFORE UPDATE OF id, trial, repeat, attempt, seed ON run
  BEGIN SELECT raise(ABORT, 'what a run is does not change'); END;
CREATE TRIGGER run_in_order BEFORE UPDATE OF status ON run
  WHEN (OLD.status = 'planned' AND NEW.status NOT IN ('planned', 'running'))
    OR (OLD.status = 'running' AND NEW.status = 'planned')
  BEGIN SELECT raise(ABORT, 'a run is planned, then running, then closed'); END;
CREATE TRIGGER run_stays BEFORE DELETE ON run WHEN OLD.status <> 'planned'
  BEGIN SELECT raise(ABORT, 'only planned runs can be dropped'); END;

CREATE TRIGGER control_stays BEFORE DELETE ON control BEGIN SELECT raise(ABORT, 'requests are kept'); END;
CREATE TRIGGER control_once BEFORE UPDATE ON control WHEN OLD.acted_wall_ns IS NOT NULL
  BEGIN SELECT raise(ABORT, 'a request is acted upon once'); END;
CREATE TRIGGER control_keeps BEFORE UPDATE OF id, campaign, action, run, asked_wall_ns, asked_by ON control
  BEGIN SELECT raise(ABORT, 'what was asked for does not change'); END;
CREATE TRIGGER submission_stays BEFORE DELETE ON submission BEGIN SELECT raise(ABORT, 'submissions are kept'); END;
