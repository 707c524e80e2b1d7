/* What readers get of runs: rows of the tables as arrays of structs. */
#include "store/read.h"

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

int wl_store_run_states(struct wl_store *s, struct wl_run_state_rows *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map map[] = {
        { "id", WL_COLUMN_INT, AT(wl_run_state_row, run) },
        { "status", WL_COLUMN_STATUS, AT(wl_run_state_row, status) },
        { NULL },
    };
    const struct wl_query q = { .map = map, .from = "FROM run ORDER BY id", .size = sizeof *out->v };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
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
