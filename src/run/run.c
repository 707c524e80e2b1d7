/* One measured run, of `sweep` and of `measure`. */
#include "run/run.h"
#include "run/active_run.h"
#include "run/internal.h"

#include <math.h>

enum {
    TICK_MS = 100,
    IDLE_MS = 900,
    PEERS_MS = 10, /* our command has ended, those of other ranks have not */
};

/* ---- start ---- */

static int set_caps(struct wl_active_run *run, struct wl_err *e)
{
    const struct wl_run_opts *opts = run->opts;
    struct wl_caps *caps;
    if (!opts->cap || !wl_cap_is_requested(opts->cap)) return 0;
    int rc = wl_caps_set(&caps, opts->cap, opts->cap_opts, run->power, run->a, e);
    if (rc == 0) run->caps = caps;
    return rc;
}

/* So that a run that is still running, or was interrupted, has a name too. */
static int store_name(struct wl_active_run *run, struct wl_err *e)
{
    struct wl_derived known = { .actual = wl_settings_none };
    known.actual.workload = run->opts->workload;
    return wl_store_derive(run->recorder.store, run->recorder.run, &known, e);
}

/* The run begins in the store right after its command starts, so that its start is the command's. A wattlaw that dies
 * in between leaves a run that is still planned and a job that its guard ends. */
static int store_begin(struct wl_active_run *run, struct wl_err *e)
{
    const struct wl_run_opts *opts = run->opts;
    struct wl_run_begin begin = { .folder = opts->stored_dir,
                                  .command = wl_shell_quote(run->a, opts->argv),
                                  .version = WL_VERSION,
                                  .training = opts->training,
                                  .stop_at = opts->stop_at,
                                  .slurm = wl_slurm_job_here(),
                                  .at = wl_anchor_at(run->out->start_ns) };
    int rc = wl_recorder_begin(&run->recorder, &begin, e);
    if (run->recorder.meter) wl_run_meter_begin(run->recorder.meter, run->out->start_ns);
    return rc || !opts->workload ? rc : store_name(run, e);
}

/* ---- a leader that died ---- */

/* We continue its run. What it did not store is a gap; their guard has restored its caps. */
static int resume_run(struct wl_active_run *run, const struct wl_local_ranks_run *left, struct wl_err *e)
{
    struct wl_recorder *r = &run->recorder;
    int rc = wl_store_open_run(&r->store, left->store, left->run, run->a, e);
    if (rc < 0) return rc;
    r->run = left->run;
    wl_recorder_open(r, run->command.marks_path);
    wl_node_sharing_begin(&run->sharing, run->a);
    rc = wl_recorder_start_sampler(r, run->power, wl_job_pid(run->command.job), e);
    return rc ? rc : wl_recorder_resume(r, e);
}

static void fail_over(struct wl_active_run *run)
{
    struct wl_local_ranks_run left = wl_local_ranks_run(run->opts->local_ranks);
    struct wl_run_result *out = run->out;
    struct wl_err e;
    if (resume_run(run, &left, &e) < 0) {
        wl_log(WL_ERROR, "campaign", "the wattlaw that measured this node died, and its run cannot be continued: %s",
               e.msg);
        wl_local_ranks_close(run->opts->local_ranks);
        return;
    }
    run->is_follower = false;
    out->run = left.run;
    out->store = left.store;
    out->start_ns = left.start_ns;
    const char *text =
        wl_strf(run->a, "the wattlaw of rank %d, which measured this node, died; that of rank %d continues the run",
                left.lost_rank, wl_local_ranks_self(run->opts->local_ranks)->rank);
    wl_log(WL_WARN, "campaign", "%s", text);
    wl_recorder_note(&run->recorder, "warn", "campaign", text);
    if (run->opts->cap && wl_cap_is_requested(run->opts->cap))
        out->flag = "the wattlaw that had set the caps died, and they were restored";
    if (out->flag && run->opts->multinode) wl_multinode_caps_restored(run->opts->multinode);
}

/* ---- while it runs ---- */

static void end_command(struct wl_active_run *run)
{
    wl_run_command_finish(&run->command, run->out);
    if (run->opts->local_ranks) wl_local_ranks_set_ended(run->opts->local_ranks, &run->command.end);
}

static void poll_run(struct wl_active_run *run, bool ended)
{
    if (wl_recorder_flush_due(&run->recorder)) wl_recorder_flush(&run->recorder);
    wl_node_sharing_check(&run->sharing);
    wl_run_check_store(run);
    if (run->caps) wl_caps_poll(run->caps);
    if (run->opts->watch && !ended) {
        wl_recorder_read_marks(&run->recorder);
        run->opts->watch->poll(run->opts->watch->ctx, run);
    }
    if (run->opts->local_ranks) wl_peer_ranks_watch(&run->peers, run->recorder.sampler);
    if (run->opts->multinode && !run->command.abandoned && wl_multinode_heartbeat_lost(run->opts->multinode))
        wl_run_command_abandon(&run->command);
    if (run->opts->tick) run->opts->tick(run->opts->ctx, wl_run_command_elapsed_s(&run->command));
}

/* After our command's end those of other ranks may go on; once we were asked to stop they get the grace time. */
static bool all_ranks_done(const struct wl_active_run *run)
{
    if (!run->opts->local_ranks || wl_local_ranks_done(run->opts->local_ranks)) return true;
    int64_t grace_ns = (int64_t)(run->opts->grace_s * WL_NS_PER_S);
    return (run->command.stop_signal != 0 || run->command.abandoned) && wl_now_ns() > run->command.end.t_ns + grace_ns;
}

static int poll_timeout_ms(const struct wl_active_run *run, bool ended)
{
    if (ended) return PEERS_MS;
    return run->opts->local_ranks || run->opts->watch ? TICK_MS : IDLE_MS;
}

/* What is stored meanwhile is stored on the sampler's CPU too: the job has started and keeps its own CPUs. */
static void event_loop(struct wl_active_run *run)
{
    struct wl_affinity ours;
    wl_affinity_bind(&ours, run->is_follower ? -1 : run->power->sampler_cpu);
    for (bool ended = false; !ended || !all_ranks_done(run);) {
        if (wl_run_command_wait(&run->command, poll_timeout_ms(run, ended))) {
            ended = true;
            end_command(run);
        }
        if (run->is_follower && wl_local_ranks_take_lead(run->opts->local_ranks)) fail_over(run);
        if (!run->is_follower) poll_run(run, ended);
    }
    wl_affinity_restore(&ours);
}

/* ---- a run ---- */

/* How long to wait for the other nodes, each of which cools down first; 0: not at all. */
static double barrier_timeout_s(const struct wl_run_opts *opts)
{
    bool cools = !isnan(opts->cooldown.below_c) && opts->node_wait_s > 0;
    return opts->node_wait_s + (cools ? opts->cooldown.wait_s : 0);
}

static int not_started(struct wl_active_run *run, struct wl_err *e)
{
    wl_run_command_not_started(&run->command, e, run->out);
    run->out->start_ns = run->command.end.t_ns;
    if (run->opts->local_ranks) wl_local_ranks_set_ended(run->opts->local_ranks, &run->command.end);
    if (run->is_follower) return 0;
    int rc = store_begin(run, e);
    return rc < 0 ? rc : wl_run_finish(run, e);
}

static int run_started(struct wl_active_run *run, struct wl_err *e)
{
    run->out->start_ns = run->command.start_ns;
    if (run->opts->local_ranks)
        wl_local_ranks_set_started(run->opts->local_ranks, wl_job_pid(run->command.job), run->command.start_ns);
    if (!run->is_follower) {
        int rc = store_begin(run, e);
        if (rc < 0 && !run->opts->pass_through) return rc; /* the arena ends the job */
        wl_recorder_store_failed(&run->recorder, rc, e);
        wl_sampler_watch(run->recorder.sampler,
                         wl_job_pid(run->command.job)); /* again: the guard has its command only now */
    }
    event_loop(run);
    run->out->is_follower = run->is_follower;
    return run->is_follower ? 0 : wl_run_finish(run, e);
}

/* GPUs that did not cool down, or report no temperature, are logged once: the run begins anyway. */
static int cool_down(struct wl_active_run *run, struct wl_err *e)
{
    struct wl_cooldown *c = &run->out->cooldown;
    int rc = wl_cooldown_wait(&run->opts->cooldown, run->power, run->opts->signals, c, run->a, e);
    if (rc == 0 && c->why)
        wl_log(WL_WARN, "campaign", "the run begins although its GPUs have not cooled down: %s", c->why);
    return rc;
}

/* Everything that must be done before a command starts: cool GPUs, caps, then the sampler, whose first readings are
 * then under the caps. *why: the caps could not be set; a measured command is then not run at all. */
static int begin_measuring(struct wl_active_run *run, int *caps_rc, struct wl_err *why, struct wl_err *e)
{
    const struct wl_run_opts *opts = run->opts;
    const char *asked;
    wl_recorder_open(&run->recorder, run->command.marks_path);
    wl_node_sharing_begin(&run->sharing, run->a);
    int rc = cool_down(run, e);
    if (rc == 0 && opts->stop_asked && (asked = opts->stop_asked(opts->stop_ctx)))
        rc = wl_fail(e, WL_EJOB, "%s", asked);
    if (rc < 0) return rc;
    *caps_rc = set_caps(run, why);
    bool fatal = opts->pass_through || *caps_rc == WL_EHUNG; /* a driver that hangs would hang in the next run too */
    if (*caps_rc < 0 && fatal) return wl_fail(e, *caps_rc, "%s", why->msg); /* nothing has begun */
    rc = wl_recorder_start_sampler(&run->recorder, run->power, wl_job_pid(run->command.job), e);
    if (rc == 0 && run->caps && opts->multinode)
        rc = wl_multinode_barrier(opts->multinode, barrier_timeout_s(opts), opts->signals, e);
    if (rc == 0 && opts->watch && opts->watch->on_begin) rc = opts->watch->on_begin(opts->watch->ctx, run, e);
    if (rc < 0 || !opts->local_ranks) return rc;
    return wl_local_ranks_begin_run(opts->local_ranks, wl_store_path(run->recorder.store), opts->run_dir,
                                    run->recorder.run, e);
}

/* Once all ranks of the node have joined, all their GPUs are known. */
static void wait_local_ranks(struct wl_active_run *run)
{
    struct wl_local_ranks *ranks = run->opts->local_ranks;
    if (!wl_local_ranks_wait_all(ranks))
        wl_log(WL_WARN, "campaign",
               "not all of the %d ranks of this node have started; the run begins without waiting for them",
               wl_local_ranks_self(ranks)->local_size);
    struct wl_power_opts *power = wl_new(run->a, struct wl_power_opts);
    *power = *run->opts->power;
    power->visible = wl_local_ranks_visible_gpus(ranks, run->a);
    run->power = power;
}

int wl_run_measure(struct wl_store *s, int64_t run, const struct wl_run_opts *opts, struct wl_run_result *out,
                   struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_run_result) {
        .run = run, .store = s ? wl_store_path(s) : NULL, .cooldown = wl_cooldown_none, .slurm = wl_slurm_energy_none
    };
    struct wl_active_run *active = wl_new(a, struct wl_active_run);
    *active = (struct wl_active_run) { .opts = opts,
                                       .out = out,
                                       .a = a,
                                       .power = opts->power,
                                       .cpu0_ns = wl_clock_process_cpu_ns(),
                                       .begin = wl_anchor_now() };
    active->recorder = (struct wl_recorder) { .store = s, .run = run, .a = a, .watch = opts->watch };
    active->command = (struct wl_run_command) { .opts = opts,
                                                .a = a,
                                                .on_mark = wl_recorder_mark,
                                                .on_broken = wl_recorder_broken_mark,
                                                .ctx = &active->recorder };
    active->is_follower = opts->local_ranks && !wl_local_ranks_is_leader(opts->local_ranks);
    if (opts->local_ranks) wl_peer_ranks_init(&active->peers, opts->local_ranks, a);
    if (opts->local_ranks && !active->is_follower) wait_local_ranks(active);
    int rc = wl_run_command_prepare(&active->command, e), caps_rc = 0;
    struct wl_err why;
    if (rc == 0 && !active->is_follower) rc = begin_measuring(active, &caps_rc, &why, e);
    if (rc < 0) return rc;
    if (caps_rc < 0) {
        *e = why;
        return not_started(active, e);
    }
    if (!active->is_follower) {
        wl_run_measure_idle(active);
        wl_sampler_edges(active->recorder.sampler, WL_EDGES_BEFORE);
    }
    rc = wl_run_command_start(&active->command, e);
    return rc < 0 ? not_started(active, e) : run_started(active, e);
}
