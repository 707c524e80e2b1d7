/* The life of a run: planned -> running -> done, failed or interrupted. */
#include "store/run.h"

#include "store/connection.h"
#include "store/control.h"
#include "store/lock.h"
#include "store/maps.h"
#include "store/nodes.h"

#include <math.h>
#include <unistd.h>

#define COOLDOWN_NONE                                   \
    {                                                   \
        .asked_c = NAN, .begin_c = NAN, .waited_s = NAN \
    }
#define SLURM_NONE                       \
    {                                    \
        .energy_j = NAN, .period_s = NAN \
    }
const struct wl_run_end wl_run_end_none = {
    .status = WL_RUN_DONE,
    .exit_status = NAN,
    .signal = NAN,
    .at = { WL_NO_NS, WL_NO_NS },
    .sampling_asked_s = NAN,
    .sampling_period_s = NAN,
    .ticks = NAN,
    .ticks_skipped = NAN,
    .samples_lost = NAN,
    .own_cpu_s = NAN,
    .sampler_cpu = NAN,
    .other_run = NAN,
    .idle_s = NAN,
    .cooldown = COOLDOWN_NONE,
    .slurm = SLURM_NONE,
};
const struct wl_load_row wl_load_none = {
    .busy_cpu_s = NAN,
    .job_cpu_s = NAN,
    .other_cpu_s = NAN,
    .cpus = NAN,
    .job_cpus = NAN,
    .runnable = NAN,
    .idle_other_cpus = NAN,
    .gpu_processes = NAN,
};
const struct wl_cooldown wl_cooldown_none = COOLDOWN_NONE;
const struct wl_slurm_energy wl_slurm_energy_none = SLURM_NONE;

/* An update that must hit the run in the state it expects. */
static int one_changed(struct wl_store *s, int64_t run, const char *state, struct wl_err *e)
{
    if (sqlite3_changes(s->db) == 1) return 0;
    return wl_fail(e, WL_EINVAL, "%s: run %lld is not %s", s->path, (long long)run, state);
}

static int mark_running(struct wl_store *s, int64_t run, const struct wl_run_begin *b, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    int rc =
        wl_sql_do(s,
                  "UPDATE run SET status = 'running', host = ?2, boot_id = ?3, pid = ?4, folder = ?5, command = ?6, "
                  "version = ?7, start_mono_ns = ?8, start_wall_ns = ?9, training = ?10, stop_at = ?11, "
                  "slurm_job = ?12, slurm_account = ?13, slurm_cluster = ?14, slurm_partition = ?15 "
                  "WHERE id = ?1 AND status = 'planned'",
                  SQL(sql_int(run), sql_text(b->host ? b->host : wl_host_name(a)),
                      sql_text(b->boot_id ? b->boot_id : wl_host_boot_id(a)), sql_int(getpid()), sql_text(b->folder),
                      sql_text(b->command), sql_text(b->version), sql_int(b->at.mono_ns), sql_int(b->at.wall_ns),
                      sql_text(b->training), sql_text(b->stop_at), sql_text(b->slurm.id), sql_text(b->slurm.account),
                      sql_text(b->slurm.cluster), sql_text(b->slurm.partition)),
                  e);
    wl_arena_free(a);
    return rc ? rc : one_changed(s, run, "planned", e);
}

/* The lock comes first: a row that says "running" without one is taken for dead. */
int wl_store_run_begin(struct wl_store *s, int64_t run, const struct wl_run_begin *begin, struct wl_err *e)
{
    struct wl_sql_tx tx;
    int rc = wl_store_lock(s, wl_lock_of_run(run), NULL); /* without locks the pid must do */
    if (rc == 0) return wl_fail(e, WL_EPERM, "%s: run %lld is running in another wattlaw", s->path, (long long)run);
    rc = wl_sql_begin(s, false, &tx, e);
    if (rc == 0) rc = wl_sql_end(s, &tx, mark_running(s, run, begin, e), e);
    if (rc) wl_store_unlock(s, wl_lock_of_run(run));
    return rc;
}

static int move_begin(struct wl_store *s, int64_t run, const struct wl_run_begin *b, struct wl_err *e)
{
    return wl_sql_do(s,
                     "UPDATE run SET host = ?2, boot_id = ?3, start_mono_ns = ?4, start_wall_ns = ?5 WHERE id = ?1 AND "
                     "status = 'running'",
                     SQL(sql_int(run), sql_text(b->host), sql_text(b->boot_id), sql_int(b->at.mono_ns),
                         sql_int(b->at.wall_ns)),
                     e);
}

/* One that was interrupted while somebody cancelled it would be repeated. */
static struct wl_run_end as_cancelled(struct wl_store *s, int64_t run, const struct wl_run_end *x, struct wl_arena *a)
{
    struct wl_run_end end = *x;
    const char *why = x->status == WL_RUN_INTERRUPTED ? wl_store_cancelled(s, run, a) : NULL;
    if (why) {
        end.status = WL_RUN_FAILED;
        end.error = why;
    }
    return end;
}

static int close_run(struct wl_store *s, int64_t run, const struct wl_run_end *x, struct wl_err *e)
{
    WL_CHECK(x->status >= WL_RUN_DONE);
    int rc = x->began ? move_begin(s, run, x->began, e) : 0;
    if (rc < 0) return rc;
    rc = wl_sql_do(s,
                   "UPDATE run SET status = ?2, stop_mono_ns = ?3, stop_wall_ns = ?4, exit_status = ?5, signal = ?6, "
                   "error = ?7, log_tail = ?8, flag = ?9, sampling_asked_s = ?10, sampling_period_s = ?11, "
                   "ticks = ?12, ticks_skipped = ?13, samples_lost = ?14, own_cpu_s = ?15, idle_s = ?16, "
                   "cooldown_c = ?17, cooldown_s = ?18, begin_c = ?19, not_cool = ?20, "
                   "slurm_plugin = ?21, slurm_steps = ?22, slurm_j = ?23, slurm_period_s = ?24, slurm_why = ?25, "
                   "sampler_cpu = ?26, other_run = ?27 "
                   "WHERE id = ?1 AND status = 'running'",
                   SQL(sql_int(run), sql_text(wl_run_status_names[x->status]), sql_int(x->at.mono_ns),
                       sql_int(x->at.wall_ns), sql_real(x->exit_status), sql_real(x->signal), sql_text(x->error),
                       sql_text(x->log_tail), sql_text(x->flag), sql_real(x->sampling_asked_s),
                       sql_real(x->sampling_period_s), sql_real(x->ticks), sql_real(x->ticks_skipped),
                       sql_real(x->samples_lost), sql_real(x->own_cpu_s), sql_real(x->idle_s),
                       sql_real(x->cooldown.asked_c), sql_real(x->cooldown.waited_s), sql_real(x->cooldown.begin_c),
                       sql_text(x->cooldown.why), sql_text(x->slurm.plugin), sql_text(x->slurm.steps),
                       sql_real(x->slurm.energy_j), sql_real(x->slurm.period_s), sql_text(x->slurm.why),
                       sql_real(x->sampler_cpu), sql_real(x->other_run)),
                   e);
    return rc ? rc : one_changed(s, run, "running", e);
}

int wl_store_run_end(struct wl_store *s, int64_t run, const struct wl_run_end *end, const struct wl_derived *derived,
                     struct wl_err *e)
{
    struct wl_sql_tx tx;
    int rc = wl_sql_begin(s, true, &tx, e);
    if (rc) return rc;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_run_end as = as_cancelled(s, run, end, a);
    rc = close_run(s, run, &as, e);
    if (rc == 0) rc = wl_store_control_run_closed(s, run, e);
    if (rc == 0) rc = wl_store_add_nodes_caps(s, run, end, e);
    if (rc == 0 && derived) rc = wl_store_derive(s, run, derived, e);
    rc = wl_sql_end(s, &tx, rc, e);
    wl_arena_free(a);
    if (rc == 0) wl_store_unlock(s, wl_lock_of_run(run));
    return rc;
}

/* ---- derived rows ---- */

static int forget_derived(struct wl_store *s, int64_t run, struct wl_err *e)
{
    static const char *const statements[] = {
        "DELETE FROM actual WHERE run = ?1",
        "DELETE FROM epoch WHERE run = ?1",
        "DELETE FROM span WHERE run = ?1",
        "DELETE FROM energy WHERE run = ?1",
        "DELETE FROM phase_energy WHERE run = ?1",
        "DELETE FROM metric WHERE run = ?1",
        "DELETE FROM metric_def WHERE run = ?1",
        "DELETE FROM stat WHERE channel IN (SELECT id FROM channel WHERE run = ?1)",
        "DELETE FROM variation WHERE run = ?1",
        "DELETE FROM load WHERE run = ?1",
        "DELETE FROM attribution WHERE run = ?1",
        "DELETE FROM total WHERE run = ?1",
    };
    int rc = 0;
    for (size_t i = 0; i < WL_COUNT(statements) && rc == 0; i++) rc = wl_sql_do(s, statements[i], SQL(sql_int(run)), e);
    return rc;
}

static int insert_derived(struct wl_store *s, int64_t run, const struct wl_derived *d, struct wl_err *e)
{
    static const struct wl_column_map actual[] = {
#define SETTINGS_PREFIX ""
#define SETTINGS_BASE   0
#include "store/settings_map.h"
        { NULL },
    };
    const struct {
        struct wl_insert to;
        const void *rows;
        size_t n;
    } parts[] = {
        { { "actual", actual, sizeof d->actual, run }, &d->actual, 1 },
        { { "epoch", wl_epoch_map, sizeof *d->epochs, run }, d->epochs, d->n_epochs },
        { { "span", wl_span_map, sizeof *d->spans, run }, d->spans, d->n_spans },
        { { "energy", wl_energy_map, sizeof *d->energies, run }, d->energies, d->n_energies },
        { { "metric", wl_metric_map, sizeof *d->metrics, run }, d->metrics, d->n_metrics },
        { { "metric_def", wl_metric_def_map, sizeof *d->metric_defs, run }, d->metric_defs, d->n_metric_defs },
        { { "phase_energy", wl_phase_map, sizeof *d->phases, run }, d->phases, d->n_phases },
        { { "stat", wl_stat_map, sizeof *d->stats }, d->stats, d->n_stats }, /* its channel says the run */
        { { "attribution", wl_attribution_map, sizeof *d->attributions, run }, d->attributions, d->n_attributions },
        { { "load", wl_load_map, sizeof *d->load, run }, d->load, d->load != NULL },
        { { "variation", wl_variation_map + 1, sizeof *d->variations, run }, d->variations, d->n_variations },
    };
    int rc = 0;
    for (size_t i = 0; i < WL_COUNT(parts) && rc == 0; i++)
        rc = wl_rows_insert(s, &parts[i].to, parts[i].rows, parts[i].n, e);
    return rc ? rc : wl_sql_do(s, "INSERT INTO total SELECT * FROM total_now WHERE run = ?1", SQL(sql_int(run)), e);
}

int wl_store_derive(struct wl_store *s, int64_t run, const struct wl_derived *derived, struct wl_err *e)
{
    struct wl_sql_tx tx;
    int rc = wl_sql_begin(s, false, &tx, e);
    if (rc) return rc;
    rc = forget_derived(s, run, e);
    if (rc == 0) rc = insert_derived(s, run, derived, e);
    return wl_sql_end(s, &tx, rc, e);
}
