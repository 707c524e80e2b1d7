/* A campaign's run on several nodes: its command starts `wattlaw measure --node-of RUN_DIR` for each rank ({measure}),
 * whose leaders set caps, sample and store a shard each; here the command is looked after and the shards become the
 * run. docs/adr/092 */
#include "run/command.h"
#include "run/internal.h"

#include <unistd.h>

enum { LOG_TAIL_BYTES = 4096, TICK_MS = 100, LOOK_AGAIN_US = 50000 };

/* Shards of a job that failed may never come: what a shared file system shows late is waited for, no longer. */
static const double FAILED_JOB_WAIT_S = 2;

struct nodes {
    const struct wl_run_opts *how;
    struct wl_run_result *out;
    struct wl_arena *a;
    struct wl_store *store;
    const char *folder;
    struct wl_run_command task;
    int64_t beat, beat_ns;
};

static void no_mark(void *ctx, const struct wl_mark *m) { (void)ctx, (void)m; }
static void no_broken_mark(void *ctx, const struct wl_err *why) { (void)ctx, (void)why; }

/* ---- while it runs ---- */

static int beat(struct nodes *n, struct wl_err *e)
{
    if (wl_now_ns() - n->beat_ns < WL_NS_PER_S) return 0;
    n->beat_ns = wl_now_ns();
    return wl_multinode_heartbeat(n->folder, ++n->beat, e);
}

static void watch(struct nodes *n)
{
    struct wl_err e;
    bool warned = false;
    while (!wl_run_command_wait(&n->task, TICK_MS)) {
        if (beat(n, &e) < 0 && !warned) {
            warned = true;
            wl_log(WL_WARN, "campaign", "%s: the nodes may think that this sweep is gone", e.msg);
        }
        if (n->how->tick) n->how->tick(n->how->ctx, wl_run_command_elapsed_s(&n->task));
    }
}

static void end_task(struct nodes *n)
{
    struct wl_run_result *out = n->out;
    struct wl_err e;
    if (wl_run_command_reap(&n->task, &e) == 0) {
        out->status = wl_run_command_status(&n->task, &out->error);
    } else {
        out->status = WL_RUN_FAILED;
        out->error = wl_strdup(n->a, e.msg);
    }
    wl_run_command_close(&n->task, true);
    out->exit = n->task.end.exit;
    out->end_ns = n->task.end.t_ns;
}

/* ---- the end ---- */

/* Why a node did not take part says more than how the launcher ended; then no command has run. */
static bool find_failed_node(struct nodes *n)
{
    struct wl_node_statuses said = wl_multinode_status(n->folder, 1, n->a);
    const struct wl_node_status *refusal = wl_multinode_refusal(&said);
    if (!refusal || n->out->status == WL_RUN_INTERRUPTED) return false;
    n->out->status = WL_RUN_FAILED;
    n->out->error = wl_strf(n->a, "node %s: %s", refusal->host, refusal->why);
    return true;
}

/* A batch system that kills a step kills the guards in it too: what stands then has to be put back by hand, or by the
 * next start there that sets caps. Nodes that are about to end are waited for. */
static void report_caps_left(struct nodes *n)
{
    int64_t until_ns = wl_now_ns() + (int64_t)(FAILED_JOB_WAIT_S * WL_NS_PER_S);
    struct wl_node_statuses said = wl_multinode_status(n->folder, 1, n->a);
    struct wl_err e;
    const char *hosts;
    if (!n->how->cap || !wl_cap_is_requested(n->how->cap)) return;
    if (wl_multinode_refusal(&said)) return; /* none has begun, and who was ready has left */
    while ((hosts = wl_multinode_unrestored(&said, n->a)) && wl_now_ns() < until_ns) {
        usleep(LOOK_AGAIN_US);
        said = wl_multinode_status(n->folder, 1, n->a);
    }
    if (!hosts) return;
    const char *text =
        wl_strf(n->a, "caps may be left on %s, which did not say that they are put back: run `wattlaw restore` there",
                hosts);
    wl_log(WL_ERROR, "cap", "run %lld: %s", (long long)n->out->run, text);
    if (wl_store_add_log(n->store, n->out->run, "error", "cap", text, &e) < 0) wl_log(WL_WARN, "store", "%s", e.msg);
}

/* The shards as one run, once they stand for all ranks and are closed. */
static int collect(struct nodes *n, struct wl_shard_merge_job *job, struct wl_err *e)
{
    double wait_s = n->out->status == WL_RUN_DONE ? n->how->node_wait_s : FAILED_JOB_WAIT_S;
    int64_t until_ns = wl_now_ns() + (int64_t)(wait_s * WL_NS_PER_S);
    for (;;) {
        struct wl_strs shards;
        int size, found = wl_shard_list(n->folder, &shards, &size, n->a), rc;
        if (found == 0 || found < size)
            rc = wl_fail(e, WL_ENOENT, "what %d of %d ranks measured is in %s", found, size, n->folder);
        else
            rc = wl_shard_merge(n->store, &shards, job, &n->out->run, n->a, e);
        if (rc == 0 || rc == WL_EIO || wl_now_ns() >= until_ns) return rc;
        usleep(LOOK_AGAIN_US);
    }
}

/* Without what the nodes have measured. */
static int close_run(struct nodes *n, const char *log_tail, struct wl_err *e)
{
    const struct wl_run_result *out = n->out;
    struct wl_run_end end = wl_run_end_none;
    end.status = out->status;
    end.error = out->error;
    end.log_tail = log_tail;
    end.slurm = out->slurm;
    end.at = wl_anchor_at(out->end_ns);
    if (out->exit.signal)
        end.signal = out->exit.signal;
    else if (!out->not_started)
        end.exit_status = out->exit.status;
    return wl_store_run_end(n->store, out->run, &end, &out->derived, e);
}

static void query_slurm(struct nodes *n)
{
    struct wl_anchor end = wl_anchor_now(), start = end;
    start.wall_ns -= end.mono_ns - n->out->start_ns;
    n->out->slurm = wl_slurm_energy_query(&start, &end, n->a);
}

static int finish(struct nodes *n, struct wl_err *e)
{
    struct wl_run_result *out = n->out;
    struct wl_err why;
    bool begun = !find_failed_node(n) && n->out->status != WL_RUN_INTERRUPTED;
    const char *log_tail = out->status == WL_RUN_DONE ? NULL : wl_file_tail(n->task.log_path, LOG_TAIL_BYTES, n->a);
    if (begun) query_slurm(n);
    struct wl_shard_merge_job job = {
        .status = out->status, .error = out->error, .log_tail = log_tail, .slurm = out->slurm
    };
    if (begun && collect(n, &job, &why) == 0) {
        out->status = job.status;
        out->error = job.error;
        out->flag = job.flag;
        out->derived = job.derived;
        return 0;
    }
    if (out->status == WL_RUN_DONE) {
        out->status = WL_RUN_FAILED;
        out->error = wl_strf(n->a, "the job ended well, but the nodes' shards make no run: %s", why.msg);
    }
    return close_run(n, log_tail, e);
}

static int not_started(struct nodes *n, int code, struct wl_err *e)
{
    struct wl_run_result *out = n->out;
    out->not_started = code;
    out->status = WL_RUN_FAILED;
    out->error = wl_strdup(n->a, e->msg);
    out->end_ns = wl_now_ns();
    wl_run_command_close(&n->task, false);
    return close_run(n, NULL, e);
}

int wl_run_multinode(struct wl_store *s, int64_t run, const struct wl_run_opts *how, struct wl_run_result *out,
                     struct wl_arena *a, struct wl_err *e)
{
    struct nodes *n = wl_new(a, struct nodes);
    struct wl_err why;
    *out = (struct wl_run_result) { .run = run,
                                    .store = wl_store_path(s),
                                    .cooldown = wl_cooldown_none,
                                    .slurm = wl_slurm_energy_none,
                                    .derived.actual = wl_settings_none };
    *n = (struct nodes) { .how = how, .out = out, .a = a, .store = s };
    n->folder = wl_shard_folder(NULL, NULL, how->dir, a);
    n->task = (struct wl_run_command) { .how = how, .a = a, .on_mark = no_mark, .on_broken = no_broken_mark, .ctx = n };
    int rc = wl_mkdirs(n->folder, e), start_rc = 0;
    if (rc == 0) rc = beat(n, e);
    if (rc == 0) rc = wl_run_command_prepare(&n->task, e);
    if (rc == 0) start_rc = wl_run_command_start(&n->task, &why);
    if (rc < 0) return rc;
    struct wl_run_begin begin = {
        .folder = how->stored_dir, .command = wl_shell_quote(a, how->argv), .version = WL_VERSION, .at = wl_anchor_now()
    };
    out->start_ns = begin.at.mono_ns;
    rc = wl_store_run_begin(s, run, &begin, e); /* where it fails the arena ends the job */
    if (rc < 0) return rc;
    if (start_rc < 0) return not_started(n, start_rc, &why);
    watch(n);
    end_task(n);
    rc = finish(n, e);
    report_caps_left(n);
    return rc;
}
