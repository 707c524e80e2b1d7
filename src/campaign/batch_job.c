/* Inside of a job: its run is measured in a store on the node's own disk, which then becomes a shard in the campaign's
 * folder. docs/adr/158
 *
 *     LOCAL/wattlaw-jobs-UID/TRIAL.rREPEAT.JOB/wattlaw.db   the store
 *                                              target       where its shard belongs; locked while the job's wattlaw
 * lives
 */
#include "campaign/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { FREE_MIN_MB = 64, TARGET_MAX = 8192 };
static const char target_file[] = "target";

/* Guards of a wattlaw that was killed hold the lock until they have restored caps and ended the command. */
static const double SALVAGE_WAIT_S = 15;

/* ---- the folder on the node ---- */

static bool has_room(const char *folder)
{
    struct statvfs st;
    if (access(folder, W_OK | X_OK) != 0 || statvfs(folder, &st) != 0) return false;
    return (double)st.f_bavail * (double)st.f_frsize >= FREE_MIN_MB * 1048576.0;
}

/* A folder of ours alone: anybody can write to /tmp. */
static int open_base(const char *parent, const char **base, struct wl_arena *a, struct wl_err *e)
{
    struct stat st;
    *base = wl_strf(a, "%s/wattlaw-jobs-%u", parent, (unsigned)geteuid());
    if (mkdir(*base, 0700) != 0 && errno != EEXIST) return wl_fail_errno(e, "%s", *base);
    if (lstat(*base, &st) != 0) return wl_fail_errno(e, "%s", *base);
    if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH))) return 0;
    return wl_fail(e, WL_EPERM, "%s: not a folder that only this user can write to", *base);
}

static int find_base(const struct wl_experiment *x, const char **base, struct wl_arena *a, struct wl_err *e)
{
    const char *given = x->launch.batch.local_dir;
    const char *const usual[] = { getenv("TMPDIR"), "/tmp", "/dev/shm" };
    if (given && has_room(given)) return open_base(given, base, a, e);
    if (given)
        return wl_fail(e, WL_EIO, "%s on %s: [launch] local_dir has less than %d MB or cannot be written to", given,
                       wl_host_name(a), FREE_MIN_MB);
    for (size_t i = 0; i < WL_COUNT(usual); i++)
        if (usual[i] && *usual[i] && has_room(usual[i])) return open_base(usual[i], base, a, e);
    return wl_fail(
        e, WL_EIO,
        "no folder on %s has %d MB for the job's measurement (looked at TMPDIR, /tmp and /dev/shm; local_dir in "
        "[launch] names another one)",
        wl_host_name(a), FREE_MIN_MB);
}

struct place {
    const char *dir, *store;
    const char *campaign; /* folder of the campaign */
    struct wl_batch_shard_name name;
    int lock;
};

static void release_lock(void *what)
{
    struct place *p = what;
    if (p->lock >= 0) close(p->lock);
    p->lock = -1;
}

/* Locks the target of a folder. false: its wattlaw, or a guard of it, lives. */
static bool lock_target(struct place *p, int flags, struct wl_arena *a)
{
    p->lock = open(wl_path_join(a, p->dir, target_file), flags | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (p->lock >= 0 && flock(p->lock, LOCK_EX | LOCK_NB) == 0) return true;
    release_lock(p);
    return false;
}

/* Another one where what a killed job left could not be salvaged, or a batch system has begun to count again. */
static int make_folder(struct place *p, const char *path, struct wl_arena *a, struct wl_err *e)
{
    enum { NAMES_MAX = 1000 };
    p->dir = path;
    for (int n = 2; mkdir(p->dir, 0700) != 0; n++) {
        if (errno != EEXIST || n > NAMES_MAX) return wl_fail_errno(e, "%s", p->dir);
        p->dir = wl_strf(a, "%s-%d", path, n);
    }
    p->store = wl_path_join(a, p->dir, WL_STORE_FILE);
    return 0;
}

static int make_place(const struct wl_batch_job_opts *o, const char *base, const char *job, struct place *p,
                      struct wl_arena *a, struct wl_err *e)
{
    *p = (struct place) { .campaign = o->folder,
                          .name = { .trial = o->trial, .repeat = o->repeat, .job = wl_batch_file_id(job, a) },
                          .lock = -1 };
    int rc = make_folder(p, wl_strf(a, "%s/%s.r%lld.%s", base, o->trial, (long long)o->repeat, p->name.job), a, e);
    if (rc < 0) return rc;
    if (!lock_target(p, O_RDWR | O_CREAT | O_EXCL, a)) return wl_fail_errno(e, "%s/%s", p->dir, target_file);
    wl_defer(a, release_lock, p);
    const char *text = wl_strf(a, "%s\n%s\n%lld\n%s\n", o->folder, o->trial, (long long)o->repeat, p->name.job);
    return write(p->lock, text, strlen(text)) == (ssize_t)strlen(text) ? 0
                                                                       : wl_fail_errno(e, "%s/%s", p->dir, target_file);
}

/* What make_place wrote. */
static bool read_place(struct place *p, struct wl_arena *a)
{
    char *text;
    if (wl_file_read(wl_path_join(a, p->dir, target_file), TARGET_MAX, &text, NULL, a, NULL) < 0) return false;
    const struct wl_strs line = wl_str_split(a, text, '\n');
    if (line.n < 4 || wl_str_to_int(line.v[2], &p->name.repeat) < 0) return false;
    p->campaign = line.v[0];
    p->name.trial = line.v[1];
    p->name.job = line.v[3];
    p->store = wl_path_join(a, p->dir, WL_STORE_FILE);
    return true;
}

/* Removes the files that a job makes there, and the folder if nothing else is in it. */
static void remove_place(struct place *p, struct wl_arena *a)
{
    static const char *const files[] = { WL_STORE_FILE, WL_STORE_FILE "-lock", WL_STORE_FILE "-wal",
                                         WL_STORE_FILE "-shm", target_file };
    for (size_t i = 0; i < WL_COUNT(files); i++) unlink(wl_path_join(a, p->dir, files[i]));
    rmdir(p->dir);
    release_lock(p);
}

/* ---- the shard ---- */

/* The run of the store, closed: one whose wattlaw died becomes interrupted here, with the readings of its spool. placed
 * NULL: where it was is not known. */
static int read_run(const struct place *p, const struct wl_placement_row *placed, struct wl_run_row *out,
                    struct wl_arena *a, struct wl_err *e)
{
    struct wl_store *s;
    struct wl_run_rows runs;
    int rc = wl_store_open(&s, p->store, WL_STORE_WRITE, a, e);
    if (rc == 0) rc = wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, a, e);
    if (rc == 0 && (runs.n != 1 || runs.v[0].status < WL_RUN_DONE))
        rc = wl_fail(e, WL_ENOENT, "%s: the run has not begun", p->store);
    if (rc < 0) return rc;
    *out = runs.v[0];
    if (placed && wl_store_add_placement(s, out->id, placed, e) < 0) wl_log(WL_WARN, "campaign", "%s", e->msg);
    rc = wl_store_seal(s, e);
    wl_store_close(s);
    return rc;
}

static int write_shard(struct place *p, const char **path, struct wl_arena *a, struct wl_err *e)
{
    struct wl_atomic_file file;
    struct wl_file_mapping store;
    int rc = wl_file_map(p->store, "", &store, a, e);
    if (rc < 0) return rc;
    p->name.crc = wl_crc32c(0, store.p, store.n);
    *path = wl_strf(a, "%s/%s/%s", p->campaign, WL_BATCH_SHARDS_FOLDER, wl_batch_shard_name(&p->name, a));
    rc = wl_atomic_file_open(&file, *path, WL_ATOMIC_FILE_INTERNAL_MANY, e);
    if (rc == 0) rc = wl_atomic_file_write(&file, store.p, store.n, e);
    if (rc == 0) rc = wl_atomic_file_commit(&file, e);
    if (rc < 0) wl_atomic_file_discard(&file);
    return rc;
}

/* Leaves the shard; then what was on the node is removed. */
static int ship(struct place *p, const struct wl_placement_row *placed, struct wl_run_row *row, const char **path,
                struct wl_arena *a, struct wl_err *e)
{
    int rc = read_run(p, placed, row, a, e);
    if (rc < 0) return rc;
    p->name.status = row->status;
    rc = write_shard(p, path, a, e);
    if (rc < 0) return wl_err_prefix(e, "the measurement stays in %s on %s", p->dir, wl_host_name(a));
    remove_place(p, a);
    return 0;
}

/* ---- salvage ---- */

static bool lock_with_timeout(struct place *p, double wait_s, struct wl_arena *a)
{
    const int64_t until_ns = wl_now_ns() + (int64_t)(wait_s * WL_NS_PER_S);
    while (!lock_target(p, O_RDWR, a)) {
        if (wl_now_ns() >= until_ns) return false;
        wl_sleep_until(wl_now_ns() + WL_NS_PER_S / 10);
    }
    return true;
}

/* `of`: a run whose wattlaw has just been killed, and is waited for; NULL: none. Others may be alive. */
static int salvage(const char *base, const struct wl_batch_job_opts *of, struct wl_arena *a)
{
    struct wl_strs names;
    int n = 0;
    if (wl_dir_list(base, &names, a, NULL) < 0) return 0;
    for (size_t i = 0; i < names.n; i++) {
        struct place p = { .dir = wl_path_join(a, base, names.v[i]), .lock = -1 };
        struct wl_run_row row;
        struct wl_err e;
        const char *path;
        if (!read_place(&p, a)) continue;
        const bool waits = of && wl_str_eq(p.name.trial, of->trial) && p.name.repeat == of->repeat;
        if (!lock_with_timeout(&p, waits ? SALVAGE_WAIT_S : 0, a)) continue;
        int rc = ship(&p, NULL, &row, &path, a, &e);
        if (rc == 0) wl_log(WL_WARN, "campaign", "job %s was killed: what it has measured is in %s", p.name.job, path);
        if (rc == WL_ENOENT) remove_place(&p, a); /* it had measured nothing */
        if (rc < 0 && rc != WL_ENOENT) wl_log(WL_ERROR, "campaign", "job %s was killed: %s", p.name.job, e.msg);
        n += rc == 0;
        release_lock(&p);
    }
    return n;
}

int wl_batch_job_salvage(const struct wl_batch_job_opts *o, struct wl_arena *a)
{
    struct wl_experiment x;
    struct wl_err e;
    const char *base;
    int rc = wl_experiment_read(o->experiment, NULL, &x, a, &e);
    if (rc == 0) rc = find_base(&x, &base, a, &e);
    if (rc < 0) wl_log(WL_ERROR, "campaign", "%s", e.msg);
    return rc < 0 ? 0 : salvage(base, o, a);
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
    const char *id = batch ? batch->environment(x) : NULL;
    return id ? id : wl_strf(a, "by-hand-%s-%d", wl_host_name(a), (int)getpid());
}

/* A campaign of one run, on this machine. Its store is closed when this returns. */
static int run_only(const struct wl_batch_job_opts *o, struct wl_experiment *x, const struct place *p,
                    struct wl_arena *a, struct wl_err *e)
{
    const struct wl_sweep_only only = { .trial = o->trial, .repeat = o->repeat, .folder = o->folder };
    const struct wl_sweep_opts opts = { .signals = o->signals, .only = &only };
    struct wl_sweep_result result;
    struct wl_arena *own = wl_arena_new(a);
    x->launch.launcher = wl_launcher_local.name;
    x->campaign.store = p->store;
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
    if (rc == 0) rc = find_base(&x, &base, a, e);
    if (rc < 0) return rc;
    salvage(base, NULL, a);
    rc = make_place(o, base, job_id(&x, a), p, a, e);
    if (rc < 0) return rc;
    struct wl_placement_row placed;
    const struct wl_batch *batch = batch_of(&x);
    const bool is_placed = batch && batch->placement && batch->placement(&x, o->folder, false, &placed, a);
    const int swept = run_only(o, &x, p, a, e);
    if (is_placed && swept == 0) batch->placement(&x, o->folder, true, &placed, a);
    rc = ship(p, is_placed ? &placed : NULL, &row, &out->shard, a, &why);
    if (rc == WL_ENOENT && swept < 0) { /* nothing was run: the sweep's error says why */
        remove_place(p, a);
        return swept;
    }
    if (rc < 0) return wl_fail(e, rc, "%s", why.msg);
    out->status = row.status;
    out->error = row.error;
    return 0;
}
