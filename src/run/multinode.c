/* A campaign's run on several nodes: its command starts `wattlaw measure --node-of RUN_DIR` for each rank ({measure}),
 * whose leaders set caps, sample and store a shard each; here the command is supervised and the shards become the
 * run. docs/adr/092 */
#include "run/command.h"
#include "run/internal.h"

#include <unistd.h>

enum { TICK_MS = 100, POLL_INTERVAL_US = 50000 };

/* Shards of a job that failed may never appear: long enough for a shared file system that shows files late. */
static const double FAILED_JOB_WAIT_S = 2;

struct multinode_run {
    const struct wl_run_opts *opts;
    struct wl_run_result *out;
    struct wl_arena *a;
    struct wl_store *store;
    const char *folder;
    struct wl_run_command command;
    int64_t beat, beat_ns;
};

static void ignore_mark(void *ctx, const struct wl_mark *m) { (void)ctx, (void)m; }
static void ignore_broken_mark(void *ctx, const struct wl_err *why) { (void)ctx, (void)why; }

/* ---- while it runs ---- */

static int send_heartbeat(struct multinode_run *m, struct wl_err *e)
{
    if (wl_now_ns() - m->beat_ns < WL_NS_PER_S) return 0;
    m->beat_ns = wl_now_ns();
    return wl_multinode_heartbeat(m->folder, ++m->beat, e);
}

static void event_loop(struct multinode_run *m)
{
    struct wl_err e;
    bool warned = false;
    while (!wl_run_command_wait(&m->command, TICK_MS)) {
        if (send_heartbeat(m, &e) < 0 && !warned) {
            warned = true;
            wl_log(WL_WARN, "campaign", "%s: the nodes may take this sweep for dead", e.msg);
        }
        if (m->opts->tick) m->opts->tick(m->opts->ctx, wl_run_command_elapsed_s(&m->command));
    }
}

static void end_command(struct multinode_run *m)
{
    wl_run_command_finish(&m->command, m->out);
    m->out->end_ns = m->command.end.t_ns;
}

/* ---- the end ---- */

/* A node's refusal says more than the launcher's exit status; then no command has run. */
static bool find_failed_node(struct multinode_run *m)
{
    struct wl_node_statuses nodes = wl_multinode_status(m->folder, 1, m->a);
    const struct wl_node_status *refusal = wl_multinode_refusal(&nodes);
    if (!refusal || m->out->status == WL_RUN_INTERRUPTED) return false;
    m->out->status = WL_RUN_FAILED;
    m->out->error = wl_strf(m->a, "node %s: %s", refusal->host, refusal->why);
    return true;
}

/* A batch system that kills a step kills the guards in it too: caps that are still set then have to be restored by
 * hand, or by the next run there that sets caps. Waits for nodes that are about to end. */
static void report_caps_left(struct multinode_run *m)
{
    int64_t until_ns = wl_now_ns() + (int64_t)(FAILED_JOB_WAIT_S * WL_NS_PER_S);
    struct wl_node_statuses nodes = wl_multinode_status(m->folder, 1, m->a);
    struct wl_err e;
    const char *hosts;
    if (!m->opts->cap || !wl_cap_is_requested(m->opts->cap)) return;
    if (wl_multinode_refusal(&nodes)) return; /* no node has begun, and those that were ready have left */
    while ((hosts = wl_multinode_unrestored(&nodes, m->a)) && wl_now_ns() < until_ns) {
        usleep(POLL_INTERVAL_US);
        nodes = wl_multinode_status(m->folder, 1, m->a);
    }
    if (!hosts) return;
    const char *text =
        wl_strf(m->a, "caps may be left on %s, which did not report restoring them: run `wattlaw restore` there",
                hosts);
    wl_log(WL_ERROR, "cap", "run %lld: %s", (long long)m->out->run, text);
    if (wl_store_add_log(m->store, m->out->run, "error", "cap", text, &e) < 0) wl_log(WL_WARN, "store", "%s", e.msg);
}

/* Of a job that did not succeed, what some of its nodes have stored is kept. */
static bool is_worth_keeping(const struct multinode_run *m, struct wl_shard_merge_job *job, int found, int size)
{
    if (m->out->status == WL_RUN_DONE || found == 0) return false;
    job->error = wl_strf(m->a, "%s; of %d ranks %d have stored their part", m->out->error ? m->out->error : "stopped",
                         size, found);
    return true;
}

/* Merges the shards once they cover all ranks: a shard is there when its node has closed it. */
static int merge_shards(struct multinode_run *m, struct wl_shard_merge_job *job, struct wl_err *e)
{
    double wait_s = m->out->status == WL_RUN_DONE ? m->opts->node_wait_s : FAILED_JOB_WAIT_S;
    int64_t until_ns = wl_now_ns() + (int64_t)(wait_s * WL_NS_PER_S);
    for (;;) {
        struct wl_strs shards;
        int size, found = wl_shard_list(m->folder, &shards, &size, m->a), rc;
        const bool complete = found > 0 && found >= size, late = wl_now_ns() >= until_ns;
        if (!complete && !(late && is_worth_keeping(m, job, found, size)))
            rc = wl_fail(e, WL_ENOENT, "%s: has the shards of %d of %d ranks", m->folder, found, size);
        else
            rc = wl_shard_merge(m->store, &shards, job, &m->out->run, m->a, e);
        if (complete || late) return rc;
        usleep(POLL_INTERVAL_US);
    }
}

/* Closes the run without the nodes' shards. */
static int close_run(struct multinode_run *m, struct wl_err *e)
{
    const struct wl_run_result *out = m->out;
    struct wl_run_end end = wl_run_end_none;
    end.status = out->status;
    end.error = out->error;
    end.log_tail = out->log_tail;
    end.slurm = out->slurm;
    end.at = wl_anchor_at(out->end_ns);
    if (out->exit.signal)
        end.signal = out->exit.signal;
    else if (!out->not_started)
        end.exit_status = out->exit.status;
    return wl_store_run_end(m->store, out->run, &end, &out->derived, e);
}

static void query_slurm(struct multinode_run *m)
{
    struct wl_anchor end = wl_anchor_now(), start = end;
    start.wall_ns -= end.mono_ns - m->out->start_ns;
    m->out->slurm = wl_slurm_energy_query(&start, &end, m->opts->slurm_config, m->a);
}

static int finish(struct multinode_run *m, struct wl_err *e)
{
    struct wl_run_result *out = m->out;
    struct wl_err why;
    const bool begun = !find_failed_node(m);
    out->log_tail = wl_run_command_log_tail(&m->command, out->status);
    if (begun && (out->status != WL_RUN_INTERRUPTED || m->command.warned)) query_slurm(m);
    struct wl_shard_merge_job job = {
        .status = out->status, .error = out->error, .log_tail = out->log_tail, .slurm = out->slurm
    };
    if (begun && merge_shards(m, &job, &why) == 0) {
        out->status = job.status;
        out->error = job.error;
        out->flag = job.flag;
        out->derived = job.derived;
        return 0;
    }
    if (out->status == WL_RUN_DONE) {
        out->status = WL_RUN_FAILED;
        out->error = wl_strf(m->a, "the job succeeded, but the nodes' shards do not form a run: %s", why.msg);
    }
    return close_run(m, e);
}

static int not_started(struct multinode_run *m, const struct wl_err *why, struct wl_err *e)
{
    wl_run_command_not_started(&m->command, why, m->out);
    m->out->end_ns = m->command.end.t_ns;
    return close_run(m, e);
}

int wl_run_multinode(struct wl_store *s, int64_t run, const struct wl_run_opts *opts, struct wl_run_result *out,
                     struct wl_arena *a, struct wl_err *e)
{
    struct multinode_run *m = wl_new(a, struct multinode_run);
    struct wl_err why;
    *out = (struct wl_run_result) { .run = run,
                                    .store = wl_store_path(s),
                                    .cooldown = wl_cooldown_none,
                                    .slurm = wl_slurm_energy_none,
                                    .derived.actual = wl_settings_none };
    *m = (struct multinode_run) { .opts = opts, .out = out, .a = a, .store = s };
    m->folder = wl_shard_folder(NULL, NULL, opts->run_dir, a);
    m->command = (struct wl_run_command) {
        .opts = opts, .a = a, .on_mark = ignore_mark, .on_broken = ignore_broken_mark, .ctx = m
    };
    int rc = wl_mkdirs(m->folder, e), start_rc = 0;
    if (rc == 0) rc = send_heartbeat(m, e);
    if (rc == 0) rc = wl_run_command_prepare(&m->command, e);
    if (rc == 0) start_rc = wl_run_command_start(&m->command, &why);
    if (rc < 0) return rc;
    struct wl_run_begin begin = { .folder = opts->stored_dir,
                                  .command = wl_shell_quote(a, opts->argv),
                                  .version = WL_VERSION,
                                  .slurm = wl_slurm_job_here(),
                                  .at = wl_anchor_now() };
    out->start_ns = begin.at.mono_ns;
    rc = wl_store_run_begin(s, run, &begin, e); /* on failure the arena ends the job */
    if (rc < 0) return rc;
    if (start_rc < 0) return not_started(m, &why, e);
    event_loop(m);
    end_command(m);
    rc = finish(m, e);
    report_caps_left(m);
    return rc;
}
