/* One measured run. `sweep` and `measure` both end up here. */
#include "run/run.h"
#include "run/active_run.h"
#include "run/internal.h"

#include <math.h>

enum {
    TICK_MS = 100,
    IDLE_MS = 900,
    ENDED_MS = 10, /* our command has ended, others have not */
};

/* ---- start ---- */

static int set_caps(struct wl_active_run *l, struct wl_err *e)
{
    const struct wl_run_opts *how = l->how;
    struct wl_caps *caps;
    if (!how->cap || !wl_cap_is_requested(how->cap)) return 0;
    int rc = wl_caps_set(&caps, how->cap, how->cap_opts, l->power, l->a, e);
    if (rc == 0) l->caps = caps;
    return rc;
}

/* A run that goes on, or is interrupted, has a name too. */
static int store_name(struct wl_active_run *l, struct wl_err *e)
{
    struct wl_derived known = { .actual = wl_settings_none };
    known.actual.workload = l->how->workload;
    return wl_store_derive(l->record.store, l->record.run, &known, e);
}

/* The run begins in the store right behind the start of its command, so that its start is the command's. A wattlaw
 * that dies in between leaves a run that is still planned and a job that its guard ends. */
static int store_begin(struct wl_active_run *l, struct wl_err *e)
{
    struct wl_run_begin begin = { .folder = l->how->stored_dir,
                                  .command = wl_shell_quote(l->a, l->how->argv),
                                  .version = WL_VERSION,
                                  .at = wl_anchor_at(l->out->start_ns) };
    int rc = wl_recorder_begin(&l->record, &begin, e);
    return rc || !l->how->workload ? rc : store_name(l, e);
}

/* ---- a leader that died ---- */

/* Its run goes on under us. What it did not store is a gap; its caps were put back by their guard. */
static int inherit(struct wl_active_run *l, const struct wl_local_ranks_run *left, struct wl_err *e)
{
    struct wl_recorder *r = &l->record;
    int rc = wl_store_open_run(&r->store, left->store, left->run, l->a, e);
    if (rc < 0) return rc;
    r->run = left->run;
    wl_recorder_open(r, l->task.marks_path);
    wl_node_sharing_begin(&l->sharing, l->a);
    rc = wl_recorder_start_sampler(r, l->power, wl_job_pid(l->task.job), e);
    return rc ? rc : wl_recorder_resume(r, e);
}

static void fail_over(struct wl_active_run *l)
{
    struct wl_local_ranks_run left = wl_local_ranks_run(l->how->team);
    struct wl_run_result *out = l->out;
    struct wl_err e;
    if (inherit(l, &left, &e) < 0) {
        wl_log(WL_ERROR, "campaign", "the wattlaw that measured this node died, and its run cannot be carried on: %s",
               e.msg);
        wl_local_ranks_close(l->how->team);
        return;
    }
    l->follows = false;
    out->run = left.run;
    out->store = left.store;
    out->start_ns = left.start_ns;
    const char *text = wl_strf(l->a, "the wattlaw of rank %d, which measured this node, died; that of rank %d goes on",
                               left.lost_rank, wl_local_ranks_self(l->how->team)->rank);
    wl_log(WL_WARN, "campaign", "%s", text);
    wl_recorder_note(&l->record, "warn", "campaign", text);
    if (l->how->cap && wl_cap_is_requested(l->how->cap))
        out->flag = "the wattlaw that had set the caps died: they were put back";
    if (out->flag && l->how->fleet) wl_multinode_caps_restored(l->how->fleet);
}

/* ---- while it runs ---- */

/* The command has ended: what it says about itself. */
static void end_task(struct wl_active_run *l)
{
    struct wl_run_result *out = l->out;
    struct wl_err e;
    if (wl_run_command_reap(&l->task, &e) == 0) {
        out->status = wl_run_command_status(&l->task, &out->error);
    } else {
        out->status = WL_RUN_FAILED;
        out->error = wl_strdup(l->a, e.msg);
    }
    wl_run_command_close(&l->task, true);
    out->exit = l->task.end.exit;
    if (l->how->team) wl_local_ranks_set_ended(l->how->team, &l->task.end);
}

static void tend(struct wl_active_run *l)
{
    if (wl_recorder_flush_due(&l->record)) wl_recorder_flush(&l->record);
    wl_node_sharing_check(&l->sharing);
    wl_run_check_store(l);
    if (l->caps) wl_caps_poll(l->caps);
    if (l->how->team) wl_peer_ranks_watch(&l->mates, l->record.sampler);
    if (l->how->fleet && !l->task.abandoned && wl_multinode_heartbeat_lost(l->how->fleet))
        wl_run_command_abandon(&l->task);
    if (l->how->tick) l->how->tick(l->how->ctx, wl_run_command_elapsed_s(&l->task));
}

/* Behind the end of our command those of other ranks may go on; who was asked to stop gives them the grace time. */
static bool over(const struct wl_active_run *l)
{
    if (!l->how->team || wl_local_ranks_done(l->how->team)) return true;
    int64_t grace_ns = (int64_t)(l->how->grace_s * WL_NS_PER_S);
    return (l->task.stop_signal != 0 || l->task.abandoned) && wl_now_ns() > l->task.end.t_ns + grace_ns;
}

static int poll_timeout_ms(const struct wl_active_run *l, bool ended)
{
    if (ended) return ENDED_MS;
    return l->how->team ? TICK_MS : IDLE_MS;
}

/* What is stored meanwhile is stored on the sampler's CPU too: the job has been started and keeps its own. */
static void watch(struct wl_active_run *l)
{
    struct wl_affinity ours;
    wl_affinity_bind(&ours, l->follows ? -1 : l->power->sampler_cpu);
    for (bool ended = false; !ended || !over(l);) {
        if (wl_run_command_wait(&l->task, poll_timeout_ms(l, ended))) {
            ended = true;
            end_task(l);
        }
        if (l->follows && wl_local_ranks_take_lead(l->how->team)) fail_over(l);
        if (!l->follows) tend(l);
    }
    wl_affinity_restore(&ours);
}

/* ---- a run ---- */

/* How long the other nodes are waited for, which cool down by themselves; 0: not. */
static double barrier_timeout_s(const struct wl_run_opts *how)
{
    bool cools = !isnan(how->cooldown.below_c) && how->node_wait_s > 0;
    return how->node_wait_s + (cools ? how->cooldown.wait_s : 0);
}

static int not_started(struct wl_active_run *l, int code, struct wl_err *e)
{
    struct wl_run_result *out = l->out;
    out->not_started = code;
    out->status = WL_RUN_FAILED;
    out->error = wl_strdup(l->a, e->msg);
    out->start_ns = l->task.end.t_ns = wl_now_ns();
    wl_run_command_close(&l->task, false);
    if (l->how->team) wl_local_ranks_set_ended(l->how->team, &l->task.end);
    if (l->follows) return 0;
    int rc = store_begin(l, e);
    return rc < 0 ? rc : wl_run_finish(l, e);
}

static int run_started(struct wl_active_run *l, struct wl_err *e)
{
    l->out->start_ns = l->task.start_ns;
    if (l->how->team) wl_local_ranks_set_started(l->how->team, wl_job_pid(l->task.job), l->task.start_ns);
    if (!l->follows) {
        int rc = store_begin(l, e);
        if (rc < 0 && !l->how->pass_through) return rc; /* the arena ends the job */
        wl_recorder_store_failed(&l->record, rc, e);
        wl_sampler_watch(l->record.sampler,
                         wl_job_pid(l->task.job)); /* anew: it waited, and has its command only now */
    }
    watch(l);
    l->out->followed = l->follows;
    return l->follows ? 0 : wl_run_finish(l, e);
}

/* What did not cool down, or does not tell, is said once: the run begins all the same. */
static int cool_down(struct wl_active_run *l, struct wl_err *e)
{
    struct wl_cooldown *c = &l->out->cooldown;
    int rc = wl_cooldown_wait(&l->how->cooldown, l->power, l->how->signals, c, l->a, e);
    if (rc == 0 && c->why) wl_log(WL_WARN, "campaign", "begins without having cooled down: %s", c->why);
    return rc;
}

/* Everything that must stand before a command starts: cool GPUs, caps, then the sampler, whose first readings are of a
 * machine that has them. *why: the caps could not be set; a measured command is then not run at all. */
static int begin_measuring(struct wl_active_run *l, int *caps_rc, struct wl_err *why, struct wl_err *e)
{
    const struct wl_run_opts *how = l->how;
    wl_recorder_open(&l->record, l->task.marks_path);
    wl_node_sharing_begin(&l->sharing, l->a);
    int rc = cool_down(l, e);
    if (rc < 0) return rc;
    *caps_rc = set_caps(l, why);
    bool fatal = how->pass_through || *caps_rc == WL_EHUNG; /* a driver that hangs would hang in the next run too */
    if (*caps_rc < 0 && fatal) return wl_fail(e, *caps_rc, "%s", why->msg); /* nothing has begun */
    rc = wl_recorder_start_sampler(&l->record, l->power, wl_job_pid(l->task.job), e);
    if (rc == 0 && l->caps && how->fleet)
        rc = wl_multinode_barrier(how->fleet, barrier_timeout_s(how), how->signals, e);
    if (rc < 0 || !how->team) return rc;
    return wl_local_ranks_begin_run(how->team, wl_store_path(l->record.store), how->dir, l->record.run, e);
}

/* All ranks of the node have come, so that all their GPUs are known. */
static void gather(struct wl_active_run *l)
{
    struct wl_local_ranks *team = l->how->team;
    if (!wl_local_ranks_wait_all(team))
        wl_log(WL_WARN, "campaign",
               "not all of the %d ranks of this node have started; the run goes on without waiting",
               wl_local_ranks_self(team)->locals);
    struct wl_power_opts *power = wl_new(l->a, struct wl_power_opts);
    *power = *l->how->power;
    power->visible = wl_local_ranks_visible_gpus(team, l->a);
    l->power = power;
}

int wl_run_measure(struct wl_store *s, int64_t run, const struct wl_run_opts *how, struct wl_run_result *out,
                   struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_run_result) {
        .run = run, .store = s ? wl_store_path(s) : NULL, .cooldown = wl_cooldown_none, .slurm = wl_slurm_energy_none
    };
    struct wl_active_run *l = wl_new(a, struct wl_active_run);
    *l = (struct wl_active_run) { .how = how,
                                  .out = out,
                                  .a = a,
                                  .power = how->power,
                                  .cpu0_ns = wl_clock_process_cpu_ns(),
                                  .began = wl_anchor_now() };
    l->record = (struct wl_recorder) { .store = s, .run = run, .a = a };
    l->task = (struct wl_run_command) {
        .how = how, .a = a, .on_mark = wl_recorder_mark, .on_broken = wl_recorder_broken_mark, .ctx = &l->record
    };
    l->follows = how->team && !wl_local_ranks_is_leader(how->team);
    if (how->team) wl_peer_ranks_init(&l->mates, how->team, a);
    if (how->team && !l->follows) gather(l);
    int rc = wl_run_command_prepare(&l->task, e), caps_rc = 0;
    struct wl_err why;
    if (rc == 0 && !l->follows) rc = begin_measuring(l, &caps_rc, &why, e);
    if (rc < 0) return rc;
    if (caps_rc < 0) return not_started(l, wl_fail(e, caps_rc, "%s", why.msg), e);
    if (!l->follows) {
        wl_run_measure_idle(l);
        wl_sampler_edges(l->record.sampler, WL_EDGES_BEFORE);
    }
    rc = wl_run_command_start(&l->task, e);
    return rc < 0 ? not_started(l, rc, e) : run_started(l, e);
}
