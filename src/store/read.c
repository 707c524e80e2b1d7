/* What readers get: rows of the tables as arrays of structs. */
#include "store/internal.h"

#include <math.h>

#define AT(type, member) offsetof(struct type, member)

const struct field wl_epoch_map[] = {
    { "epoch", F_INT, AT(wl_epoch_row, epoch) },
    { "begin_ns", F_TIME, AT(wl_epoch_row, begin_ns) },
    { "end_ns", F_TIME, AT(wl_epoch_row, end_ns) },
    { "time_s", F_REAL, AT(wl_epoch_row, time_s) },
    { "samples", F_COUNT, AT(wl_epoch_row, samples) },
    { "updates", F_COUNT, AT(wl_epoch_row, updates) },
    { NULL },
};

const struct field wl_energy_map[] = {
    { "epoch", F_COUNT, AT(wl_energy_row, epoch) },
    { "device", F_INT, AT(wl_energy_row, device) },
    { "scope", F_NAME, AT(wl_energy_row, scope) },
    { "method", F_NAME, AT(wl_energy_row, method) },
    { "energy_j", F_REAL, AT(wl_energy_row, energy_j) },
    { "mean_power_w", F_REAL, AT(wl_energy_row, mean_power_w) },
    { "coverage", F_REAL, AT(wl_energy_row, coverage) },
    { "estimated", F_BOOL, AT(wl_energy_row, estimated) },
    { "simulated", F_BOOL, AT(wl_energy_row, simulated) },
    { "chosen", F_BOOL, AT(wl_energy_row, chosen) },
    { "energy_lo_j", F_REAL, AT(wl_energy_row, energy_lo_j) },
    { "energy_hi_j", F_REAL, AT(wl_energy_row, energy_hi_j) },
    { "idle_before_w", F_REAL, AT(wl_energy_row, idle_before_w) },
    { "idle_after_w", F_REAL, AT(wl_energy_row, idle_after_w) },
    { "idle_j", F_REAL, AT(wl_energy_row, idle_j) },
    { "why", F_TEXT, AT(wl_energy_row, why) },
    { NULL },
};

const struct field wl_phase_map[] = {
    { "phase", F_NAME, AT(wl_phase_row, phase) },
    { "device", F_INT, AT(wl_phase_row, device) },
    { "scope", F_NAME, AT(wl_phase_row, scope) },
    { "method", F_NAME, AT(wl_phase_row, method) },
    { "spans", F_INT, AT(wl_phase_row, spans) },
    { "time_s", F_REAL, AT(wl_phase_row, time_s) },
    { "energy_j", F_REAL, AT(wl_phase_row, energy_j) },
    { "energy_lo_j", F_REAL, AT(wl_phase_row, energy_lo_j) },
    { "energy_hi_j", F_REAL, AT(wl_phase_row, energy_hi_j) },
    { "estimated", F_BOOL, AT(wl_phase_row, estimated) },
    { "simulated", F_BOOL, AT(wl_phase_row, simulated) },
    { "why", F_TEXT, AT(wl_phase_row, why) },
    { NULL },
};

const struct field wl_metric_map[] = {
    { "epoch", F_COUNT, AT(wl_metric_row, epoch) },
    { "name", F_NAME, AT(wl_metric_row, name) },
    { "value", F_REAL, AT(wl_metric_row, value) },
    { NULL },
};

const struct field wl_metric_def_map[] = {
    { "name", F_NAME, AT(wl_metric_def_row, name) },      { "place", F_INT, AT(wl_metric_def_row, place) },
    { "label", F_TEXT, AT(wl_metric_def_row, label) },    { "unit", F_TEXT, AT(wl_metric_def_row, unit) },
    { "larger", F_COUNT, AT(wl_metric_def_row, larger) }, { "baseline_of", F_TEXT, AT(wl_metric_def_row, baseline_of) },
    { "main", F_BOOL, AT(wl_metric_def_row, main) },      { NULL },
};

const struct field wl_stat_map[] = {
    { "channel", F_INT, AT(wl_stat_row, channel) },
    { "epoch", F_COUNT, AT(wl_stat_row, epoch) },
    { "readings", F_INT, AT(wl_stat_row, readings) },
    { "mean", F_REAL, AT(wl_stat_row, mean) },
    { "sd", F_REAL, AT(wl_stat_row, sd) },
    { "min", F_REAL, AT(wl_stat_row, min) },
    { "max", F_REAL, AT(wl_stat_row, max) },
    { "period_s", F_REAL, AT(wl_stat_row, period_s) },
    { NULL },
};

/* What is written; readers get the run before it. */
#define VARIATION                                                                                                   \
    { "quantity", F_NAME, AT(wl_variation_row, quantity) }, { "devices", F_INT, AT(wl_variation_row, devices) },    \
        { "instants", F_INT, AT(wl_variation_row, instants) }, { "mean", F_REAL, AT(wl_variation_row, mean) },      \
        { "mean_lo", F_REAL, AT(wl_variation_row, mean_lo) }, { "mean_hi", F_REAL, AT(wl_variation_row, mean_hi) }, \
        { "cv_time", F_REAL, AT(wl_variation_row, cv_time) },                                                       \
        { "cv_time_lo", F_REAL, AT(wl_variation_row, cv_time_lo) },                                                 \
        { "cv_time_hi", F_REAL, AT(wl_variation_row, cv_time_hi) },                                                 \
        { "cv_devices", F_REAL, AT(wl_variation_row, cv_devices) },                                                 \
        { "cv_devices_lo", F_REAL, AT(wl_variation_row, cv_devices_lo) },                                           \
        { "cv_devices_hi", F_REAL, AT(wl_variation_row, cv_devices_hi) },                                           \
        { "cv_pooled", F_REAL, AT(wl_variation_row, cv_pooled) },                                                   \
        { "cv_pooled_lo", F_REAL, AT(wl_variation_row, cv_pooled_lo) },                                             \
        { "cv_pooled_hi", F_REAL, AT(wl_variation_row, cv_pooled_hi) },                                             \
    {                                                                                                               \
        "simulated", F_BOOL, AT(wl_variation_row, simulated)                                                        \
    }

const struct field wl_variation_map[] = { VARIATION, { NULL } };

const struct field wl_device_map[] = {
    { "id", F_INT, AT(wl_device_row, id) },           { "host", F_NAME, AT(wl_device_row, host) },
    { "uuid", F_NAME, AT(wl_device_row, uuid) },      { "sensor", F_NAME, AT(wl_device_row, sensor) },
    { "number", F_COUNT, AT(wl_device_row, number) }, { "name", F_TEXT, AT(wl_device_row, name) },
    { "info", F_OBJECT, AT(wl_device_row, info) },    { NULL },
};

const struct field wl_channel_map[] = {
    { "id", F_INT, AT(wl_channel_row, id) },
    { "run", F_INT, AT(wl_channel_row, run) },
    { "device", F_INT, AT(wl_channel_row, device) },
    { "quantity", F_NAME, AT(wl_channel_row, quantity) },
    { "unit", F_NAME, AT(wl_channel_row, unit) },
    { "scope", F_NAME, AT(wl_channel_row, scope) },
    { "variant", F_NAME, AT(wl_channel_row, variant) },
    { "counter", F_BOOL, AT(wl_channel_row, counter) },
    { "estimated", F_BOOL, AT(wl_channel_row, estimated) },
    { "simulated", F_BOOL, AT(wl_channel_row, simulated) },
    { "update_s", F_REAL, AT(wl_channel_row, update_s) },
    { "window_s", F_REAL, AT(wl_channel_row, window_s) },
    { "delay_s", F_REAL, AT(wl_channel_row, delay_s) },
    { "most_w", F_REAL, AT(wl_channel_row, most_w) },
    { "calibrated", F_TEXT, AT(wl_channel_row, calibrated) },
    { NULL },
};

const struct field wl_mark_map[] = {
    { "t_ns", F_INT, AT(wl_mark_row, t_ns) },
    { "rank", F_INT, AT(wl_mark_row, rank) },
    { "word", F_NAME, AT(wl_mark_row, word) },
    { "fields", F_NAME, AT(wl_mark_row, fields) },
    { NULL },
};

/* ---- runs ---- */

static const struct field run_map[] = {
    { "r.id", F_INT, AT(wl_run_row, id) },
    { "r.trial", F_INT, AT(wl_run_row, trial) },
    { "s.campaign", F_INT, AT(wl_run_row, campaign) },
    { "r.repeat", F_INT, AT(wl_run_row, repeat) },
    { "r.attempt", F_INT, AT(wl_run_row, attempt) },
    { "r.seed", F_WHOLE, AT(wl_run_row, seed) },
    { "r.position", F_COUNT, AT(wl_run_row, position) },
    { "r.status", F_STATUS, AT(wl_run_row, status) },
#define SETTINGS_PREFIX "s."
#define SETTINGS_BASE   offsetof(struct wl_run_row, set)
#include "store/settings_map.h"
    { "r.host", F_TEXT, AT(wl_run_row, host) },
    { "r.boot_id", F_TEXT, AT(wl_run_row, boot_id) },
    { "r.folder", F_TEXT, AT(wl_run_row, folder) },
    { "r.command", F_TEXT, AT(wl_run_row, command) },
    { "r.version", F_TEXT, AT(wl_run_row, version) },
    { "r.pid", F_COUNT, AT(wl_run_row, pid) },
    { "r.start_mono_ns", F_TIME, AT(wl_run_row, start.mono_ns) },
    { "r.start_wall_ns", F_TIME, AT(wl_run_row, start.wall_ns) },
    { "r.stop_mono_ns", F_TIME, AT(wl_run_row, stop.mono_ns) },
    { "r.stop_wall_ns", F_TIME, AT(wl_run_row, stop.wall_ns) },
    { "r.exit_status", F_WHOLE, AT(wl_run_row, exit_status) },
    { "r.signal", F_COUNT, AT(wl_run_row, signal) },
    { "r.error", F_TEXT, AT(wl_run_row, error) },
    { "r.log_tail", F_TEXT, AT(wl_run_row, log_tail) },
    { "r.flag", F_TEXT, AT(wl_run_row, flag) },
    { "r.sampling_asked_s", F_REAL, AT(wl_run_row, sampling_asked_s) },
    { "r.sampling_period_s", F_REAL, AT(wl_run_row, sampling_period_s) },
    { "r.ticks", F_COUNT, AT(wl_run_row, ticks) },
    { "r.ticks_skipped", F_COUNT, AT(wl_run_row, ticks_skipped) },
    { "r.samples_lost", F_COUNT, AT(wl_run_row, samples_lost) },
    { "r.own_cpu_s", F_REAL, AT(wl_run_row, own_cpu_s) },
    { "r.idle_s", F_REAL, AT(wl_run_row, idle_s) },
    { "r.cooldown_c", F_REAL, AT(wl_run_row, cooldown.asked_c) },
    { "r.cooldown_s", F_REAL, AT(wl_run_row, cooldown.waited_s) },
    { "r.begin_c", F_REAL, AT(wl_run_row, cooldown.begin_c) },
    { "r.not_cool", F_TEXT, AT(wl_run_row, cooldown.why) },
    { "r.slurm_plugin", F_TEXT, AT(wl_run_row, slurm.plugin) },
    { "r.slurm_steps", F_TEXT, AT(wl_run_row, slurm.steps) },
    { "r.slurm_j", F_REAL, AT(wl_run_row, slurm.energy_j) },
    { "r.slurm_period_s", F_REAL, AT(wl_run_row, slurm.period_s) },
    { "r.slurm_why", F_TEXT, AT(wl_run_row, slurm.why) },
    { "r.sampler_cpu", F_COUNT, AT(wl_run_row, sampler_cpu) },
    { "(r.stop_mono_ns - r.start_mono_ns) / 1e9", F_REAL, AT(wl_run_row, time_s) },
    { "(SELECT count(*) FROM epoch WHERE run = r.id)", F_COUNT, AT(wl_run_row, epochs_seen) },
    { "(SELECT avg(time_s) FROM epoch WHERE run = r.id)", F_REAL, AT(wl_run_row, epoch_time_s) },
    { "x.energy_j", F_REAL, AT(wl_run_row, energy_j) },
    { "x.mean_power_w", F_REAL, AT(wl_run_row, mean_power_w) },
    { "x.energy_lo_j", F_REAL, AT(wl_run_row, energy_lo_j) },
    { "x.energy_hi_j", F_REAL, AT(wl_run_row, energy_hi_j) },
    { "x.idle_j", F_REAL, AT(wl_run_row, idle_j) },
    { "x.estimated", F_BOOL, AT(wl_run_row, estimated) },
    { "x.simulated", F_BOOL, AT(wl_run_row, simulated) },
    { "x.util_pct", F_REAL, AT(wl_run_row, util_pct) },
    { "(SELECT 100 * sum(m.value) / sum(p.time_s) FROM epoch p JOIN metric m ON m.run = p.run AND "
      "ifnull(m.epoch, 0) = p.epoch AND m.name = 'input_s' WHERE p.run = r.id)",
      F_REAL, AT(wl_run_row, input_pct) },
    { "x.power_capped_pct", F_REAL, AT(wl_run_row, power_capped_pct) },
    { "x.thermal_capped_pct", F_REAL, AT(wl_run_row, thermal_capped_pct) },
    { "x.achieved_clock_mhz", F_REAL, AT(wl_run_row, achieved_clock_mhz) },
    { "x.achieved_mem_clock_mhz", F_REAL, AT(wl_run_row, achieved_mem_clock_mhz) },
    { "x.power_cap_acted_pct", F_REAL, AT(wl_run_row, power_cap_acted_pct) },
    { "x.module_cap_acted_pct", F_REAL, AT(wl_run_row, module_cap_acted_pct) },
    { "x.clock_acted_pct", F_REAL, AT(wl_run_row, clock_acted_pct) },
    { "x.mem_clock_acted_pct", F_REAL, AT(wl_run_row, mem_clock_acted_pct) },
    { "x.metric", F_TEXT, AT(wl_run_row, metric) },
    { "x.metric_value", F_REAL, AT(wl_run_row, metric_value) },
    { "(SELECT d.unit FROM metric_def d WHERE d.run = r.id AND d.name = x.metric)", F_TEXT,
      AT(wl_run_row, metric_unit) },
    { NULL },
};

/* WHERE has only the requested conditions, so that SQLite uses their index. */
static char *runs_from(const struct wl_run_filter *f, struct wl_arena *a)
{
    struct wl_text sql = WL_TEXT(a);
    wl_text_add(&sql, "FROM run r JOIN setting s ON s.run = r.id "
                      "LEFT JOIN total x ON x.run = r.id AND x.epoch = 0 WHERE ?1 IS NOT NULL");
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
    const struct sql_value v[] = { sql_int(f->campaign), sql_int(f->trial), sql_int(f->run) };
    return wl_rows_select(s, run_map, runs_from(f, a), v,
                          f->run     ? 3
                          : f->trial ? 2
                                     : 1,
                          sizeof *out->v, &out->v, &out->n, a, e);
}

/* ---- parts of one run ---- */

int wl_store_epochs(struct wl_store *s, int64_t run, struct wl_epoch_rows *out, struct wl_arena *a, struct wl_err *e)
{
    return wl_rows_select(s, wl_epoch_map, "FROM epoch WHERE run = ?1 ORDER BY epoch", SQL(sql_int(run)),
                          sizeof *out->v, &out->v, &out->n, a, e);
}

int wl_store_energies(struct wl_store *s, int64_t run, struct wl_energy_rows *out, struct wl_arena *a, struct wl_err *e)
{
    return wl_rows_select(s, wl_energy_map,
                          "FROM energy WHERE run = ?1 ORDER BY ifnull(epoch, 0), device, scope, method",
                          SQL(sql_int(run)), sizeof *out->v, &out->v, &out->n, a, e);
}

int wl_store_phases(struct wl_store *s, int64_t run, struct wl_phase_rows *out, struct wl_arena *a, struct wl_err *e)
{
    return wl_rows_select(s, wl_phase_map, "FROM phase_energy WHERE run = ?1 ORDER BY phase, device, scope",
                          SQL(sql_int(run)), sizeof *out->v, &out->v, &out->n, a, e);
}

int wl_store_metrics(struct wl_store *s, int64_t run, struct wl_metric_rows *out, struct wl_arena *a, struct wl_err *e)
{
    return wl_rows_select(s, wl_metric_map, "FROM metric WHERE run = ?1 ORDER BY ifnull(epoch, 0), name",
                          SQL(sql_int(run)), sizeof *out->v, &out->v, &out->n, a, e);
}

int wl_store_metric_defs(struct wl_store *s, int64_t campaign, int64_t run, struct wl_metric_def_rows *out,
                         struct wl_arena *a, struct wl_err *e)
{
    static const struct field map[] = {
        { "s.workload", F_TEXT, AT(wl_metric_def_row, workload) },
        { "d.name", F_NAME, AT(wl_metric_def_row, name) },
        { "d.place", F_INT, AT(wl_metric_def_row, place) },
        { "d.label", F_TEXT, AT(wl_metric_def_row, label) },
        { "d.unit", F_TEXT, AT(wl_metric_def_row, unit) },
        { "d.larger", F_COUNT, AT(wl_metric_def_row, larger) },
        { "d.baseline_of", F_TEXT, AT(wl_metric_def_row, baseline_of) },
        { "d.main", F_BOOL, AT(wl_metric_def_row, main) },
        { "max(d.run)", F_INT, AT(wl_metric_def_row, run) }, /* picks the row that the others are of (bare columns) */
        { NULL },
    };
    return wl_rows_select(s, map,
                          "FROM metric_def d JOIN setting s ON s.run = d.run WHERE ?1 IN (0, s.campaign) AND "
                          "?2 IN (0, d.run) GROUP BY s.workload, d.name ORDER BY s.workload, d.place",
                          SQL(sql_int(campaign), sql_int(run)), sizeof *out->v, &out->v, &out->n, a, e);
}

int wl_store_metric_names(struct wl_store *s, struct wl_strs *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct field map[] = { { "name", F_NAME, 0 }, { NULL } };
    return wl_rows_select(s, map,
                          "FROM metric WHERE epoch IS NOT NULL AND run IN (SELECT run FROM observations) GROUP BY name "
                          "ORDER BY name",
                          SQL_NONE, sizeof *out->v, &out->v, &out->n, a, e);
}

int wl_store_stats(struct wl_store *s, int64_t run, struct wl_stat_rows *out, struct wl_arena *a, struct wl_err *e)
{
    return wl_rows_select(s, wl_stat_map,
                          "FROM stat WHERE channel IN (SELECT id FROM channel WHERE run = ?1) "
                          "ORDER BY channel, ifnull(epoch, 0)",
                          SQL(sql_int(run)), sizeof *out->v, &out->v, &out->n, a, e);
}

int wl_store_variations(struct wl_store *s, int64_t campaign, struct wl_variation_rows *out, struct wl_arena *a,
                        struct wl_err *e)
{
    static const struct field map[] = { { "run", F_INT, AT(wl_variation_row, run) }, VARIATION, { NULL } };
    return wl_rows_select(
        s, map,
        "FROM variation WHERE ?1 = 0 OR run IN (SELECT r.id FROM run r JOIN trial t ON t.id = r.trial "
        "WHERE t.campaign = ?1) ORDER BY run, quantity",
        SQL(sql_int(campaign)), sizeof *out->v, &out->v, &out->n, a, e);
}

int wl_store_devices(struct wl_store *s, int64_t run, struct wl_device_rows *out, struct wl_arena *a, struct wl_err *e)
{
    return wl_rows_select(s, wl_device_map,
                          "FROM device WHERE id IN (SELECT device FROM channel WHERE run = ?1) ORDER BY id",
                          SQL(sql_int(run)), sizeof *out->v, &out->v, &out->n, a, e);
}

int wl_store_channels(struct wl_store *s, int64_t run, struct wl_channel_rows *out, struct wl_arena *a,
                      struct wl_err *e)
{
    return wl_rows_select(s, wl_channel_map, "FROM channel WHERE run = ?1 ORDER BY id", SQL(sql_int(run)),
                          sizeof *out->v, &out->v, &out->n, a, e);
}

int wl_store_read_marks(struct wl_store *s, int64_t run, struct wl_mark_rows *out, struct wl_arena *a, struct wl_err *e)
{
    return wl_rows_select(s, wl_mark_map, "FROM mark WHERE run = ?1 ORDER BY t_ns, id", SQL(sql_int(run)),
                          sizeof *out->v, &out->v, &out->n, a, e);
}

int wl_store_read_log(struct wl_store *s, int64_t run, struct wl_log_rows *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct field map[] = {
        { "wall_ns", F_INT, AT(wl_log_row, wall_ns) },
        { "level", F_NAME, AT(wl_log_row, level) },
        { "area", F_NAME, AT(wl_log_row, area) },
        { "message", F_NAME, AT(wl_log_row, message) },
        { NULL },
    };
    return wl_rows_select(s, map, "FROM log WHERE run IS nullif(?1, 0) ORDER BY id", SQL(sql_int(run)), sizeof *out->v,
                          &out->v, &out->n, a, e);
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
