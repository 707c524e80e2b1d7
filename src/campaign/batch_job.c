/* Inside of a job: its run is measured in a store on the node's own disk, which then becomes a shard in the campaign's
 * folder. docs/adr/158 */
#include "campaign/batch.h"

#include <unistd.h>

/* Guards of a wattlaw that was killed hold the lock until they have restored caps and ended the command. */
static const double SALVAGE_WAIT_S = 15;

/* ---- the folder on the node ---- */

struct place {
    struct wl_batch_local local;
    const char *campaign; /* folder of the campaign */
    struct wl_batch_shard_name name;
    const char *part; /* shard of a node's part of a run; NULL: the run of a job */
};

static int make_place(const struct wl_batch_job_opts *o, const char *base, const char *job, struct place *p,
                      struct wl_arena *a, struct wl_err *e)
{
    *p = (struct place) {
        .campaign = o->folder,
        .name = { .trial = o->trial, .repeat = o->repeat, .job = wl_batch_file_id(job, a) },
    };
    const char *dir = wl_strf(a, "%s/%s.r%lld.%s", base, o->trial, (long long)o->repeat, p->name.job);
    const char *target = wl_strf(a, "%s\n%s\n%lld\n%s\n", o->folder, o->trial, (long long)o->repeat, p->name.job);
    return wl_batch_local_make(&p->local, dir, target, a, e);
}

/* What make_place wrote, or wl_batch_node_open. */
static bool read_place(struct place *p, const char *dir, struct wl_arena *a)
{
    struct wl_strs line;
    *p = (struct place) { 0 };
    if (!wl_batch_local_read(&p->local, dir, &line, a)) return false;
    if (line.n >= 2 && wl_str_eq(line.v[0], WL_BATCH_LOCAL_PART)) return p->part = line.v[1], true;
    if (line.n < 4 || wl_str_to_int(line.v[2], &p->name.repeat) < 0) return false;
    p->campaign = line.v[0];
    p->name.trial = line.v[1];
    p->name.job = line.v[3];
    return true;
}

/* ---- the shard ---- */

/* Leaves the shard; then what was on the node is removed. */
static int ship(struct place *p, const struct wl_placement_row *placed, struct wl_run_row *row, const char **path,
                struct wl_arena *a, struct wl_err *e)
{
    int rc = wl_batch_shard_seal(p->local.store, placed, row, a, e);
    if (rc < 0) return rc;
    p->name.status = row->status;
    if (p->part)
        rc = wl_batch_shard_copy_to(p->local.store, *path = p->part, e);
    else
        rc = wl_batch_shard_copy(p->local.store, p->campaign, &p->name, path, a, e);
    if (rc < 0) return wl_err_prefix(e, "the measurement stays in %s on %s", p->local.dir, wl_host_name(a));
    wl_batch_local_remove(&p->local, a);
    return 0;
}

/* ---- salvage ---- */

/* `of`: a run whose wattlaw has just been killed, and is waited for; NULL: none. Others may be alive. */
int wl_batch_salvage(const char *base, const struct wl_batch_job_opts *of, struct wl_arena *a)
{
    struct wl_strs names;
    int n = 0;
    if (wl_dir_list(base, &names, a, NULL) < 0) return 0;
    for (size_t i = 0; i < names.n; i++) {
        struct place p;
        struct wl_run_row row;
        struct wl_err e;
        const char *path;
        if (!read_place(&p, wl_path_join(a, base, names.v[i]), a)) continue;
        const bool waits = of && wl_str_eq(p.name.trial, of->trial) && p.name.repeat == of->repeat;
        if (!wl_batch_local_lock(&p.local, waits ? SALVAGE_WAIT_S : 0, a)) continue;
        const char *what = p.part ? wl_strf(a, "the wattlaw of %s", p.part) : wl_strf(a, "job %s", p.name.job);
        int rc = ship(&p, NULL, &row, &path, a, &e);
        if (rc == 0) wl_log(WL_WARN, "campaign", "%s was killed: what it has measured is in %s", what, path);
        if (rc == WL_ENOENT) wl_batch_local_remove(&p.local, a); /* it had measured nothing */
        if (rc < 0 && rc != WL_ENOENT) wl_log(WL_ERROR, "campaign", "%s was killed: %s", what, e.msg);
        n += rc == 0;
        wl_batch_local_release(&p.local);
    }
    return n;
}

int wl_batch_job_salvage(const struct wl_batch_job_opts *o, struct wl_arena *a)
{
    struct wl_experiment x;
    struct wl_err e;
    const char *base;
    int rc = wl_experiment_read(o->experiment, NULL, &x, a, &e);
    if (rc == 0) rc = wl_batch_local_base(x.launch.batch.local_dir, &base, a, &e);
    if (rc < 0) wl_log(WL_ERROR, "campaign", "%s", e.msg);
    return rc < 0 ? 0 : wl_batch_salvage(base, o, a);
}

/* ---- the run ---- */

/* The shard of this run that is done; NULL: there is none. */
static const char *finished_shard(const struct wl_batch_job_opts *o, struct wl_arena *a)
{
    struct wl_strs names;
    const char *folder = wl_path_join(a, o->folder, WL_BATCH_SHARDS_FOLDER);
    if (wl_dir_list(folder, &names, a, NULL) < 0) return NULL;
    for (size_t i = 0; i < names.n; i++) {
        struct wl_batch_shard_name n;
        if (!wl_batch_shard_parse(names.v[i], &n, a) || n.status != WL_RUN_DONE) continue;
        if (!wl_str_eq(n.trial, o->trial) || n.repeat != o->repeat) continue;
        const char *path = wl_path_join(a, folder, names.v[i]);
        if (!wl_batch_shard_damage(path, &n, a)) return path;
    }
    return NULL;
}

/* NULL: the experiment's launcher is none of a batch system. */
static const struct wl_batch *batch_of(const struct wl_experiment *x)
{
    const struct wl_launcher *launcher;
    return wl_launcher_find(x->launch.launcher, &launcher, NULL) == 0 ? launcher->batch : NULL;
}

static const char *job_id(const struct wl_experiment *x, struct wl_arena *a)
{
    const struct wl_batch *batch = batch_of(x);
    const char *id = batch ? batch->environment(x, a) : NULL;
    return id ? id : wl_strf(a, "by-hand-%s-%d", wl_host_name(a), (int)getpid());
}

/* A campaign of one run, on this machine. Its store is closed when this returns. */
static int run_only(const struct wl_batch_job_opts *o, struct wl_experiment *x, const struct place *p,
                    struct wl_arena *a, struct wl_err *e)
{
    const struct wl_batch *batch = batch_of(x);
    const struct wl_sweep_only only = { .trial = o->trial,
                                        .repeat = o->repeat,
                                        .folder = o->folder,
                                        .slurm_config =
                                            batch && batch->slurm_config ? batch->slurm_config(o->folder, a) : NULL };
    const struct wl_sweep_opts opts = { .signals = o->signals, .only = &only };
    struct wl_sweep_result result;
    struct wl_arena *own = wl_arena_new(a);
    x->launch.launcher = wl_launcher_local.name;
    x->campaign.store = p->local.store;
    int rc = wl_sweep_run(x, &opts, &result, own, e);
    wl_arena_free(own);
    return rc;
}

int wl_batch_job_run(const struct wl_batch_job_opts *o, struct wl_batch_job_result *out, struct wl_arena *a,
                     struct wl_err *e)
{
    struct wl_experiment x;
    struct wl_run_row row;
    struct wl_err why;
    const char *base;
    struct place *p = wl_new(a, struct place);
    *out = (struct wl_batch_job_result) { .finished = finished_shard(o, a) };
    if (out->finished) return 0;
    int rc = wl_experiment_read(o->experiment, NULL, &x, a, e);
    if (rc == 0) rc = wl_batch_local_base(x.launch.batch.local_dir, &base, a, e);
    if (rc < 0) return rc;
    wl_batch_salvage(base, NULL, a);
    rc = make_place(o, base, job_id(&x, a), p, a, e);
    if (rc < 0) return rc;
    struct wl_placement_row placed;
    const struct wl_batch *batch = batch_of(&x);
    const bool is_placed = batch && batch->placement && batch->placement(&x, o->folder, false, &placed, a);
    const int swept = run_only(o, &x, p, a, e);
    if (is_placed && swept == 0) batch->placement(&x, o->folder, true, &placed, a);
    rc = ship(p, is_placed ? &placed : NULL, &row, &out->shard, a, &why);
    if (rc == WL_ENOENT && swept < 0) { /* nothing was run: the sweep's error says why */
        wl_batch_local_remove(&p->local, a);
        return swept;
    }
    if (rc < 0) return wl_fail(e, rc, "%s", why.msg);
    out->status = row.status;
    out->error = row.error;
    return 0;
}
