/* What readers get: rows of the tables as arrays of structs. */
#include "store/read.h"

#include "store/files.h"
#include "store/maps.h"

#define AT(type, member) offsetof(struct type, member)

/* ---- runs ---- */

static const struct wl_column_map run_map[] = {
    { "r.id", WL_COLUMN_INT, AT(wl_run_row, id) },
    { "r.trial", WL_COLUMN_INT, AT(wl_run_row, trial) },
    { "s.campaign", WL_COLUMN_INT, AT(wl_run_row, campaign) },
    { "r.repeat", WL_COLUMN_INT, AT(wl_run_row, repeat) },
    { "r.attempt", WL_COLUMN_INT, AT(wl_run_row, attempt) },
    { "r.seed", WL_COLUMN_WHOLE, AT(wl_run_row, seed) },
    { "r.position", WL_COLUMN_COUNT, AT(wl_run_row, position) },
    { "r.status", WL_COLUMN_STATUS, AT(wl_run_row, status) },
#define SETTINGS_PREFIX "s."
#define SETTINGS_BASE   offsetof(struct wl_run_row, set)
#include "store/settings_map.h"
    { "a.extra", WL_COLUMN_OBJECT, AT(wl_run_row, actual_extra) },
    { "r.host", WL_COLUMN_TEXT, AT(wl_run_row, host) },
    { "r.boot_id", WL_COLUMN_TEXT, AT(wl_run_row, boot_id) },
    { "r.folder", WL_COLUMN_TEXT, AT(wl_run_row, folder) },
    { "r.command", WL_COLUMN_TEXT, AT(wl_run_row, command) },
    { "r.version", WL_COLUMN_TEXT, AT(wl_run_row, version) },
    { "r.pid", WL_COLUMN_COUNT, AT(wl_run_row, pid) },
    { "r.start_mono_ns", WL_COLUMN_TIME, AT(wl_run_row, start.mono_ns) },
    { "r.start_wall_ns", WL_COLUMN_TIME, AT(wl_run_row, start.wall_ns) },
    { "r.stop_mono_ns", WL_COLUMN_TIME, AT(wl_run_row, stop.mono_ns) },
    { "r.stop_wall_ns", WL_COLUMN_TIME, AT(wl_run_row, stop.wall_ns) },
    { "r.exit_status", WL_COLUMN_WHOLE, AT(wl_run_row, exit_status) },
    { "r.signal", WL_COLUMN_COUNT, AT(wl_run_row, signal) },
    { "r.error", WL_COLUMN_TEXT, AT(wl_run_row, error) },
    { "r.log_tail", WL_COLUMN_TEXT, AT(wl_run_row, log_tail) },
    { "r.flag", WL_COLUMN_TEXT, AT(wl_run_row, flag) },
    { "r.sampling_asked_s", WL_COLUMN_REAL, AT(wl_run_row, sampling_asked_s) },
    { "r.sampling_period_s", WL_COLUMN_REAL, AT(wl_run_row, sampling_period_s) },
    { "r.ticks", WL_COLUMN_COUNT, AT(wl_run_row, ticks) },
    { "r.ticks_skipped", WL_COLUMN_COUNT, AT(wl_run_row, ticks_skipped) },
    { "r.samples_lost", WL_COLUMN_COUNT, AT(wl_run_row, samples_lost) },
    { "r.own_cpu_s", WL_COLUMN_REAL, AT(wl_run_row, own_cpu_s) },
    { "r.idle_s", WL_COLUMN_REAL, AT(wl_run_row, idle_s) },
    { "r.cooldown_c", WL_COLUMN_REAL, AT(wl_run_row, cooldown.asked_c) },
    { "r.cooldown_s", WL_COLUMN_REAL, AT(wl_run_row, cooldown.waited_s) },
    { "r.begin_c", WL_COLUMN_REAL, AT(wl_run_row, cooldown.begin_c) },
    { "r.not_cool", WL_COLUMN_TEXT, AT(wl_run_row, cooldown.why) },
    { "r.slurm_plugin", WL_COLUMN_TEXT, AT(wl_run_row, slurm.plugin) },
    { "r.slurm_steps", WL_COLUMN_TEXT, AT(wl_run_row, slurm.steps) },
    { "r.slurm_j", WL_COLUMN_REAL, AT(wl_run_row, slurm.energy_j) },
    { "r.slurm_period_s", WL_COLUMN_REAL, AT(wl_run_row, slurm.period_s) },
    { "r.slurm_why", WL_COLUMN_TEXT, AT(wl_run_row, slurm.why) },
    { "r.training", WL_COLUMN_TEXT, AT(wl_run_row, training) },
    { "r.stop_at", WL_COLUMN_TEXT, AT(wl_run_row, stop_at) },
    { "r.slurm_job", WL_COLUMN_TEXT, AT(wl_run_row, slurm_job.id) },
    { "r.slurm_account", WL_COLUMN_TEXT, AT(wl_run_row, slurm_job.account) },
    { "r.slurm_cluster", WL_COLUMN_TEXT, AT(wl_run_row, slurm_job.cluster) },
    { "r.slurm_partition", WL_COLUMN_TEXT, AT(wl_run_row, slurm_job.partition) },
    { "r.sampler_cpu", WL_COLUMN_COUNT, AT(wl_run_row, sampler_cpu) },
    { "r.other_run", WL_COLUMN_COUNT, AT(wl_run_row, other_run) },
    { "l.busy_cpu_s", WL_COLUMN_REAL, AT(wl_run_row, load.busy_cpu_s) },
    { "l.job_cpu_s", WL_COLUMN_REAL, AT(wl_run_row, load.job_cpu_s) },
    { "l.other_cpu_s", WL_COLUMN_REAL, AT(wl_run_row, load.other_cpu_s) },
    { "l.cpus", WL_COLUMN_REAL, AT(wl_run_row, load.cpus) },
    { "l.job_cpus", WL_COLUMN_REAL, AT(wl_run_row, load.job_cpus) },
    { "l.runnable", WL_COLUMN_REAL, AT(wl_run_row, load.runnable) },
    { "l.idle_other_cpus", WL_COLUMN_REAL, AT(wl_run_row, load.idle_other_cpus) },
    { "l.gpu_processes", WL_COLUMN_REAL, AT(wl_run_row, load.gpu_processes) },
    { "l.busy", WL_COLUMN_TEXT, AT(wl_run_row, load.busy) },
    { "CASE WHEN l.run IS NULL THEN 'not derived: see wattlaw rebuild' ELSE l.why END", WL_COLUMN_TEXT,
      AT(wl_run_row, load.why) },
    { "(r.stop_mono_ns - r.start_mono_ns) / 1e9", WL_COLUMN_REAL, AT(wl_run_row, time_s) },
    { "(SELECT count(*) FROM epoch WHERE run = r.id)", WL_COLUMN_COUNT, AT(wl_run_row, epochs_seen) },
    { "(SELECT avg(time_s) FROM epoch WHERE run = r.id)", WL_COLUMN_REAL, AT(wl_run_row, epoch_time_s) },
    { "x.energy_j", WL_COLUMN_REAL, AT(wl_run_row, energy_j) },
    { "x.mean_power_w", WL_COLUMN_REAL, AT(wl_run_row, mean_power_w) },
    { "x.energy_lo_j", WL_COLUMN_REAL, AT(wl_run_row, energy_lo_j) },
    { "x.energy_hi_j", WL_COLUMN_REAL, AT(wl_run_row, energy_hi_j) },
    { "x.idle_j", WL_COLUMN_REAL, AT(wl_run_row, idle_j) },
    { "(SELECT min(format) FROM source WHERE run = r.id)", WL_COLUMN_TEXT, AT(wl_run_row, source) },
    { "x.estimated", WL_COLUMN_BOOL, AT(wl_run_row, estimated) },
    { "x.simulated", WL_COLUMN_BOOL, AT(wl_run_row, simulated) },
    { "x.util_pct", WL_COLUMN_REAL, AT(wl_run_row, util_pct) },
    { "(SELECT 100 * sum(m.value) / sum(p.time_s) FROM epoch p JOIN metric m ON m.run = p.run AND "
      "ifnull(m.epoch, 0) = p.epoch AND m.name = 'input_s' WHERE p.run = r.id)",
      WL_COLUMN_REAL, AT(wl_run_row, input_pct) },
    { "x.power_capped_pct", WL_COLUMN_REAL, AT(wl_run_row, power_capped_pct) },
    { "x.thermal_capped_pct", WL_COLUMN_REAL, AT(wl_run_row, thermal_capped_pct) },
    { "x.metric", WL_COLUMN_TEXT, AT(wl_run_row, metric) },
    { "x.metric_value", WL_COLUMN_REAL, AT(wl_run_row, metric_value) },
    { "(SELECT d.unit FROM metric_def d WHERE d.run = r.id AND d.name = x.metric)", WL_COLUMN_TEXT,
      AT(wl_run_row, metric_unit) },
    { NULL },
};

/* The columns of run_map, then those of each cap. */
static const struct wl_column_map *runs_map(struct wl_arena *a)
{
    struct wl_column_map *map = wl_new_array(a, struct wl_column_map, WL_COUNT(run_map) + 2 * WL_CAP_KINDS);
    size_t n = 0;
    for (; run_map[n].name; n++) map[n] = run_map[n];
    for (const struct wl_setting *r = NULL; (r = wl_setting_next_cap(r));) {
        size_t at = r->cap * sizeof(double);
        const char *achieved = r->achieved ? wl_strf(a, "x.%s", r->achieved) : "NULL";
        map[n++] = (struct wl_column_map) { achieved, WL_COLUMN_REAL, AT(wl_run_row, achieved) + at };
        map[n++] =
            (struct wl_column_map) { wl_strf(a, "x.%s", r->acted), WL_COLUMN_REAL, AT(wl_run_row, acted_pct) + at };
    }
    return map;
}

/* WHERE has only the requested conditions, so that SQLite uses their index. */
static char *runs_from(const struct wl_run_filter *f, struct wl_arena *a)
{
    struct wl_text sql = WL_TEXT(a);
    wl_text_add(
        &sql,
        "FROM run r JOIN setting s ON s.run = r.id LEFT JOIN actual a ON a.run = r.id "
        "LEFT JOIN total x ON x.run = r.id AND x.epoch = 0 LEFT JOIN load l ON l.run = r.id WHERE ?1 IS NOT NULL");
    if (f->campaign) wl_text_add(&sql, " AND s.campaign = ?1");
    if (f->trial) wl_text_add(&sql, " AND r.trial = ?2");
    if (f->run) wl_text_add(&sql, " AND r.id = ?3");
    for (unsigned i = 0; f->statuses && i <= WL_RUN_INTERRUPTED; i++)
        if (!(f->statuses >> i & 1)) wl_text_addf(&sql, " AND r.status <> '%s'", wl_run_status_names[i]);
    wl_text_add(&sql, " ORDER BY s.campaign, r.position IS NULL, r.position, r.id");
    return sql.s;
}

int wl_store_runs(struct wl_store *s, const struct wl_run_filter *f, struct wl_run_rows *out, struct wl_arena *a,
                  struct wl_err *e)
{
    const struct wl_sql_value v[] = { sql_int(f->campaign), sql_int(f->trial), sql_int(f->run) };
    const struct wl_query q = {
        .map = runs_map(a),
        .from = runs_from(f, a),
        .values = v,
        .n_values = f->run     ? 3
                    : f->trial ? 2
                               : 1,
        .size = sizeof *out->v,
    };
    int rc = wl_rows_select(s, &q, &out->v, &out->n, a, e);
    for (size_t i = 0; i < out->n && rc == 0; i++) {
        struct wl_run_row *r = &out->v[i];
        r->set.extra = wl_settings_merge_extra(r->set.extra, r->actual_extra, a);
    }
    return rc;
}

int wl_store_run_command(struct wl_store *s, int64_t run, const char **command, const char **folder, struct wl_arena *a,
                         struct wl_err *e)
{
    struct words {
        const char *command, *folder;
    } * v;
    static const struct wl_column_map map[] = { { "command", WL_COLUMN_TEXT, AT(words, command) },
                                                { "folder", WL_COLUMN_TEXT, AT(words, folder) },
                                                { NULL } };
    const struct wl_query q = {
        .map = map, .from = "FROM run WHERE id = ?1", .values = SQL(sql_int(run)), .size = sizeof *v
    };
    size_t n;
    const int rc = wl_rows_select(s, &q, &v, &n, a, e);
    *command = rc == 0 && n ? v->command : NULL;
    *folder = rc == 0 && n ? v->folder : NULL;
    return rc;
}

int64_t wl_store_run_end_wall_ns(const struct wl_run_row *r)
{
    const double ns = r->time_s * WL_NS_PER_S;
    if (r->start.wall_ns == WL_NO_NS || !(ns >= 0 && ns < 0x1p62)) return WL_NO_NS;
    return r->start.wall_ns + (int64_t)ns;
}

/* ---- parts of one run ---- */

int wl_store_epochs(struct wl_store *s, int64_t run, struct wl_epoch_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_epoch_map,
        .from = "FROM epoch WHERE run = ?1 ORDER BY epoch",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_spans(struct wl_store *s, int64_t run, struct wl_span_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_span_map,
        .from = "FROM span WHERE run = ?1 ORDER BY kind",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_energies(struct wl_store *s, int64_t run, struct wl_energy_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_energy_map,
        .from = "FROM energy WHERE run = ?1 ORDER BY ifnull(epoch, 0), device, scope, method",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_busy(struct wl_store *s, struct wl_busy_rows *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map map[] = {
        { "run", WL_COLUMN_INT, AT(wl_busy_row, run) },
        { "busy", WL_COLUMN_NAME, AT(wl_busy_row, busy) },
        { NULL },
    };
    const struct wl_query q = { .map = map,
                                .from = "FROM load WHERE busy IS NOT NULL ORDER BY run",
                                .size = sizeof *out->v };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_attributions(struct wl_store *s, int64_t run, struct wl_attribution_rows *out, struct wl_arena *a,
                          struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_attribution_map,
        .from = "FROM attribution WHERE run = ?1 ORDER BY device, scope",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_phases(struct wl_store *s, int64_t run, struct wl_phase_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_phase_map,
        .from = "FROM phase_energy WHERE run = ?1 ORDER BY phase, device, scope",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_metrics(struct wl_store *s, int64_t run, struct wl_metric_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_metric_map,
        .from = "FROM metric WHERE run = ?1 ORDER BY ifnull(epoch, 0), name",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_metrics_by_run(struct wl_store *s, int64_t campaign, struct wl_run_metric_rows *out, struct wl_arena *a,
                            struct wl_err *e)
{
    static const struct wl_column_map map[] = {
        { "run", WL_COLUMN_INT, AT(wl_run_metric_row, run) },
        { "epoch", WL_COLUMN_COUNT, AT(wl_run_metric_row, metric.epoch) },
        { "name", WL_COLUMN_NAME, AT(wl_run_metric_row, metric.name) },
        { "value", WL_COLUMN_REAL, AT(wl_run_metric_row, metric.value) },
        { NULL },
    };
    const struct wl_query q = {
        .map = map,
        .from = "FROM metric WHERE ?1 = 0 OR run IN (SELECT r.id FROM run r JOIN trial t ON t.id = r.trial WHERE "
                "t.campaign = ?1) ORDER BY run, ifnull(epoch, 0), name",
        .values = SQL(sql_int(campaign)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_metric_defs(struct wl_store *s, int64_t campaign, int64_t run, struct wl_metric_def_rows *out,
                         struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map map[] = {
        { "s.workload", WL_COLUMN_TEXT, AT(wl_metric_def_row, workload) },
        { "d.name", WL_COLUMN_NAME, AT(wl_metric_def_row, name) },
        { "d.place", WL_COLUMN_INT, AT(wl_metric_def_row, place) },
        { "d.label", WL_COLUMN_TEXT, AT(wl_metric_def_row, label) },
        { "d.unit", WL_COLUMN_TEXT, AT(wl_metric_def_row, unit) },
        { "d.larger", WL_COLUMN_COUNT, AT(wl_metric_def_row, larger) },
        { "d.baseline_of", WL_COLUMN_TEXT, AT(wl_metric_def_row, baseline_of) },
        { "d.main", WL_COLUMN_BOOL, AT(wl_metric_def_row, main) },
        { "max(d.run)", WL_COLUMN_INT,
          AT(wl_metric_def_row, run) }, /* picks the row that the others are of (bare columns) */
        { NULL },
    };
    const struct wl_query q = {
        .map = map,
        .from = "FROM metric_def d JOIN setting s ON s.run = d.run WHERE ?1 IN (0, s.campaign) AND "
                "?2 IN (0, d.run) GROUP BY s.workload, d.name ORDER BY s.workload, d.place",
        .values = SQL(sql_int(campaign), sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_metric_names(struct wl_store *s, struct wl_strs *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map map[] = { { "name", WL_COLUMN_NAME, 0 }, { NULL } };
    const struct wl_query q = {
        .map = map,
        .from = "FROM metric WHERE epoch IS NOT NULL AND run IN (SELECT run FROM observations) GROUP BY name "
                "ORDER BY name",
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_peaks(struct wl_store *s, struct wl_peak_rows *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map map[] = { { "r.id", WL_COLUMN_INT, offsetof(struct wl_peak_row, run) },
                                                { "p.watts", WL_COLUMN_REAL, offsetof(struct wl_peak_row, power_w) },
                                                { "m.bytes", WL_COLUMN_REAL,
                                                  offsetof(struct wl_peak_row, memory_bytes) },
                                                { NULL } };
    /* Of the columns beside min() SQLite takes those of the row that has the least. */
    const struct wl_query q = {
        .map = map,
        .from = "FROM run r LEFT JOIN (SELECT run, min(tier), watts FROM "
                "(SELECT run, tier, sum(peak) AS watts FROM "
                "(SELECT c.run, CASE c.scope WHEN 'gpu' THEN 1 WHEN 'module' THEN 2 ELSE 3 END AS tier, "
                "max(u.max) AS peak FROM channel c JOIN stat u ON u.channel = c.id AND u.epoch IS NULL "
                "WHERE c.quantity = 'power_w' AND c.counter = 0 AND c.estimated = 0 "
                "AND c.scope IN ('gpu', 'module', 'package', 'dram') AND u.max IS NOT NULL "
                "GROUP BY c.run, c.device, c.scope) GROUP BY run, tier) GROUP BY run) p ON p.run = r.id "
                "LEFT JOIN (SELECT c.run, max(u.max) AS bytes FROM channel c "
                "JOIN stat u ON u.channel = c.id AND u.epoch IS NULL WHERE c.quantity = 'mem_used_bytes' "
                "GROUP BY c.run) m ON m.run = r.id ORDER BY r.id",
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_gpu_counts(struct wl_store *s, int64_t campaign, struct wl_gpu_count_rows *out, struct wl_arena *a,
                        struct wl_err *e)
{
    static const struct wl_column_map map[] = { { "j.run", WL_COLUMN_INT, offsetof(struct wl_gpu_count_row, run) },
                                                { "count(DISTINCT j.device)", WL_COLUMN_INT,
                                                  offsetof(struct wl_gpu_count_row, gpus) },
                                                { NULL } };
    const struct wl_query q = {
        .map = map,
        .from = "FROM energy j JOIN run r ON r.id = j.run JOIN trial t ON t.id = r.trial "
                "WHERE j.epoch IS NULL AND j.chosen AND j.scope IN ('gpu', 'module') AND (?1 = 0 OR t.campaign = ?1) "
                "GROUP BY j.run ORDER BY j.run",
        .values = SQL(sql_int(campaign)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_stats(struct wl_store *s, int64_t run, struct wl_stat_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_stat_map,
        .from = "FROM stat WHERE channel IN (SELECT id FROM channel WHERE run = ?1) "
                "ORDER BY channel, ifnull(epoch, 0)",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_variations(struct wl_store *s, int64_t campaign, struct wl_variation_rows *out, struct wl_arena *a,
                        struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_variation_map,
        .from = "FROM variation WHERE ?1 = 0 OR run IN (SELECT r.id FROM run r JOIN trial t ON t.id = r.trial "
                "WHERE t.campaign = ?1) ORDER BY run, quantity",
        .values = SQL(sql_int(campaign)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_devices(struct wl_store *s, int64_t run, struct wl_device_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_device_map,
        .from = "FROM device WHERE id IN (SELECT device FROM channel WHERE run = ?1) ORDER BY id",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_channels(struct wl_store *s, int64_t run, struct wl_channel_rows *out, struct wl_arena *a,
                      struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_channel_map,
        .from = "FROM channel WHERE run = ?1 ORDER BY id",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_read_marks(struct wl_store *s, int64_t run, struct wl_mark_rows *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = {
        .map = wl_mark_map,
        .from = "FROM mark WHERE run = ?1 ORDER BY t_ns, id",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_read_log(struct wl_store *s, int64_t run, struct wl_log_rows *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map map[] = {
        { "wall_ns", WL_COLUMN_INT, AT(wl_log_row, wall_ns) },
        { "level", WL_COLUMN_NAME, AT(wl_log_row, level) },
        { "area", WL_COLUMN_NAME, AT(wl_log_row, area) },
        { "message", WL_COLUMN_NAME, AT(wl_log_row, message) },
        { NULL },
    };
    const struct wl_query q = {
        .map = map,
        .from = "FROM log WHERE run IS nullif(?1, 0) ORDER BY id",
        .values = SQL(sql_int(run)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

/* ---- series ---- */

static int read_series(struct wl_store *s, sqlite3_stmt *stmt, struct wl_readings *out, size_t n, struct wl_arena *a,
                       struct wl_err *e)
{
    out->t_ns = wl_try_alloc(a, n * sizeof *out->t_ns + 1, 16, "the readings of a channel", e);
    out->value = wl_try_alloc(a, n * sizeof *out->value + 1, 16, "the readings of a channel", e);
    if (!out->t_ns || !out->value) return WL_ENOMEM;
    int rc = 0;
    while (out->n < n && (rc = wl_sql_step(s, stmt, e)) > 0) {
        rc = wl_rows_reading(s, stmt, &out->t_ns[out->n], &out->value[out->n], e);
        if (rc) break;
        out->n++;
    }
    sqlite3_reset(stmt);
    return rc < 0 ? rc : wl_store_check_unchanged(s, e);
}

/* Counted first, so that the arrays have their size; readings that arrive in between are left out. */
int wl_store_readings(struct wl_store *s, int64_t channel, int64_t begin_ns, int64_t end_ns, struct wl_readings *out,
                      struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_readings) { 0 };
    if (begin_ns == INT64_MIN) begin_ns++; /* which binds as NULL */
    int64_t n = 0;
    int rc = wl_sql_find(s, "SELECT count(*) FROM sample WHERE channel = ?1 AND t_ns BETWEEN ?2 AND ?3",
                         SQL(sql_int(channel), sql_int(begin_ns), sql_int(end_ns)), &n, e);
    if (rc < 0) return rc;
    sqlite3_stmt *stmt;
    rc = wl_sql_get(s, "SELECT t_ns, value FROM sample WHERE channel = ?1 AND t_ns BETWEEN ?2 AND ?3 ORDER BY t_ns",
                    &stmt, e);
    if (rc == 0) rc = wl_sql_bind(s, stmt, SQL(sql_int(channel), sql_int(begin_ns), sql_int(end_ns)), e);
    return rc ? rc : read_series(s, stmt, out, (size_t)n, a, e);
}
