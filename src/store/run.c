/* The life of a run: planned -> running -> done, failed or interrupted. */
#include "store/internal.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
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
    .idle_s = NAN,
    .cooldown = COOLDOWN_NONE,
    .slurm = SLURM_NONE,
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
                  "version = ?7, start_mono_ns = ?8, start_wall_ns = ?9 WHERE id = ?1 AND status = 'planned'",
                  SQL(sql_int(run), sql_text(b->host ? b->host : wl_host_name(a)),
                      sql_text(b->boot_id ? b->boot_id : wl_host_boot_id(a)), sql_int(getpid()), sql_text(b->folder),
                      sql_text(b->command), sql_text(b->version), sql_int(b->at.mono_ns), sql_int(b->at.wall_ns)),
                  e);
    wl_arena_free(a);
    return rc ? rc : one_changed(s, run, "planned", e);
}

/* The lock comes first: a row that says "running" without one is taken for dead. */
int wl_store_run_begin(struct wl_store *s, int64_t run, const struct wl_run_begin *begin, struct wl_err *e)
{
    struct sql_tx tx;
    int rc = wl_store_lock(s, wl_lock_of_run(run), NULL); /* without locks the pid must do */
    if (rc == 0) return wl_fail(e, WL_EPERM, "%s: run %lld is running in another wattlaw", s->path, (long long)run);
    rc = wl_sql_begin(s, false, &tx, e);
    if (rc == 0) rc = wl_sql_end(s, &tx, mark_running(s, run, begin, e), e);
    if (rc) wl_store_unlock(s, wl_lock_of_run(run));
    return rc;
}

/* A reader that takes in what the dead one left holds the lock for some milliseconds. */
static int lock_with_retry(struct wl_store *s, int64_t run)
{
    int64_t until_ns = wl_now_ns() + WL_NS_PER_S;
    int rc;
    while ((rc = wl_store_lock(s, wl_lock_of_run(run), NULL)) == 0 && wl_now_ns() < until_ns)
        wl_sleep_until(wl_now_ns() + WL_NS_PER_S / 100);
    return rc;
}

int wl_store_run_take_over(struct wl_store *s, int64_t run, struct wl_err *e)
{
    int rc = lock_with_retry(s, run);
    if (rc == 0) return wl_fail(e, WL_EPERM, "%s: run %lld is running in another wattlaw", s->path, (long long)run);
    rc = wl_sql_do(s, "UPDATE run SET pid = ?2 WHERE id = ?1 AND status = 'running'",
                   SQL(sql_int(run), sql_int(getpid())), e);
    if (rc == 0) rc = one_changed(s, run, "running", e);
    if (rc == 0) rc = wl_spool_recover_run(s, run, e);
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
                   "sampler_cpu = ?26 "
                   "WHERE id = ?1 AND status = 'running'",
                   SQL(sql_int(run), sql_text(wl_run_status_names[x->status]), sql_int(x->at.mono_ns),
                       sql_int(x->at.wall_ns), sql_real(x->exit_status), sql_real(x->signal), sql_text(x->error),
                       sql_text(x->log_tail), sql_text(x->flag), sql_real(x->sampling_asked_s),
                       sql_real(x->sampling_period_s), sql_real(x->ticks), sql_real(x->ticks_skipped),
                       sql_real(x->samples_lost), sql_real(x->own_cpu_s), sql_real(x->idle_s),
                       sql_real(x->cooldown.asked_c), sql_real(x->cooldown.waited_s), sql_real(x->cooldown.begin_c),
                       sql_text(x->cooldown.why), sql_text(x->slurm.plugin), sql_text(x->slurm.steps),
                       sql_real(x->slurm.energy_j), sql_real(x->slurm.period_s), sql_text(x->slurm.why),
                       sql_real(x->sampler_cpu)),
                   e);
    return rc ? rc : one_changed(s, run, "running", e);
}

int wl_store_run_end(struct wl_store *s, int64_t run, const struct wl_run_end *end, const struct wl_derived *derived,
                     struct wl_err *e)
{
    struct sql_tx tx;
    int rc = wl_sql_begin(s, true, &tx, e);
    if (rc) return rc;
    rc = close_run(s, run, end, e);
    if (rc == 0) rc = wl_store_add_nodes_caps(s, run, end, e);
    if (rc == 0 && derived) rc = wl_store_derive(s, run, derived, e);
    rc = wl_sql_end(s, &tx, rc, e);
    if (rc == 0) wl_store_unlock(s, wl_lock_of_run(run));
    return rc;
}

/* ---- derived rows ---- */

static int forget_derived(struct wl_store *s, int64_t run, struct wl_err *e)
{
    static const char *const statements[] = {
        "DELETE FROM actual WHERE run = ?1",
        "DELETE FROM epoch WHERE run = ?1",
        "DELETE FROM energy WHERE run = ?1",
        "DELETE FROM phase_energy WHERE run = ?1",
        "DELETE FROM metric WHERE run = ?1",
        "DELETE FROM metric_def WHERE run = ?1",
        "DELETE FROM stat WHERE channel IN (SELECT id FROM channel WHERE run = ?1)",
        "DELETE FROM variation WHERE run = ?1",
        "DELETE FROM total WHERE run = ?1",
    };
    int rc = 0;
    for (size_t i = 0; i < WL_COUNT(statements) && rc == 0; i++) rc = wl_sql_do(s, statements[i], SQL(sql_int(run)), e);
    return rc;
}

static int insert_derived(struct wl_store *s, int64_t run, const struct wl_derived *d, struct wl_err *e)
{
    static const struct field actual[] = {
#define SETTINGS_PREFIX ""
#define SETTINGS_BASE   0
#include "store/settings_map.h"
        { NULL },
    };
    int rc = wl_rows_insert(s, "actual", "run", run, actual, &d->actual, 1, sizeof d->actual, "", e);
    if (rc == 0)
        rc = wl_rows_insert(s, "epoch", "run", run, wl_epoch_map, d->epochs, d->n_epochs, sizeof *d->epochs, "", e);
    if (rc == 0)
        rc = wl_rows_insert(s, "energy", "run", run, wl_energy_map, d->energies, d->n_energies, sizeof *d->energies, "",
                            e);
    if (rc == 0)
        rc =
            wl_rows_insert(s, "metric", "run", run, wl_metric_map, d->metrics, d->n_metrics, sizeof *d->metrics, "", e);
    if (rc == 0)
        rc = wl_rows_insert(s, "metric_def", "run", run, wl_metric_def_map, d->metric_defs, d->n_metric_defs,
                            sizeof *d->metric_defs, "", e);
    if (rc == 0)
        rc = wl_rows_insert(s, "phase_energy", "run", run, wl_phase_map, d->phases, d->n_phases, sizeof *d->phases, "",
                            e);
    if (rc == 0) rc = wl_rows_insert(s, "stat", NULL, 0, wl_stat_map, d->stats, d->n_stats, sizeof *d->stats, "", e);
    if (rc == 0)
        rc = wl_rows_insert(s, "variation", "run", run, wl_variation_map, d->variations, d->n_variations,
                            sizeof *d->variations, "", e);
    return rc ? rc : wl_sql_do(s, "INSERT INTO total SELECT * FROM total_now WHERE run = ?1", SQL(sql_int(run)), e);
}

int wl_store_derive(struct wl_store *s, int64_t run, const struct wl_derived *derived, struct wl_err *e)
{
    struct sql_tx tx;
    int rc = wl_sql_begin(s, false, &tx, e);
    if (rc) return rc;
    rc = forget_derived(s, run, e);
    if (rc == 0) rc = insert_derived(s, run, derived, e);
    return wl_sql_end(s, &tx, rc, e);
}

/* ---- after a crash ---- */

/* On a local file system the lock decides, also across containers and boots. On a shared one, locks of other machines
 * may be invisible: there only runs of this host are judged, by boot, lock and, where locks do not work, process id. */
static int alive(struct wl_store *s, int64_t run, const char *host, const char *boot_id, double pid)
{
    int locked = wl_store_locked(s, wl_lock_of_run(run));
    if (locked >= 0 && !s->network) return locked;
    struct wl_arena *a = wl_arena_new(NULL);
    bool here = wl_str_eq(host, wl_host_name(a)), same_boot = wl_str_eq(boot_id, wl_host_boot_id(a));
    wl_arena_free(a);
    if (!here) return -1;
    if (!same_boot) return 0;
    if (locked >= 0) return locked;
    if (!(pid >= 1 && pid <= INT32_MAX)) return 0;
    return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

int wl_store_run_is_alive(struct wl_store *s, const struct wl_run_row *r)
{
    return alive(s, r->id, r->host, r->boot_id, r->pid);
}

struct running {
    int64_t id;
    double pid;
    const char *host, *boot_id;
};

static int close_if_dead(struct wl_store *s, const struct running *r, size_t *found, struct wl_err *e)
{
    if (alive(s, r->id, r->host, r->boot_id, r->pid) != 0) return 0;
    ++*found;
    return wl_sql_do(
        s,
        "UPDATE run SET status = 'interrupted', error = 'wattlaw (process ' || pid || ') ended without closing "
        "the run' WHERE id = ?1 AND status = 'running'",
        SQL(sql_int(r->id)), e);
}

int wl_store_recover(struct wl_store *s, size_t *found, struct wl_err *e)
{
    static const struct field map[] = {
        { "id", F_INT, offsetof(struct running, id) },
        { "pid", F_COUNT, offsetof(struct running, pid) },
        { "host", F_TEXT, offsetof(struct running, host) },
        { "boot_id", F_TEXT, offsetof(struct running, boot_id) },
        { NULL },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    struct running *v;
    size_t n = 0, dead = 0;
    int rc = wl_rows_select(s, map, "FROM run WHERE status = 'running'", SQL_NONE, sizeof *v, &v, &n, a, e);
    for (size_t i = 0; i < n && rc == 0; i++) rc = close_if_dead(s, &v[i], &dead, e);
    if (found) *found = dead;
    wl_arena_free(a);
    return rc;
}
