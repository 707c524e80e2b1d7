/* The end of a measured run, and what is stored then. */
#include "run/active_run.h"
#include "run/internal.h"

#include <math.h>

void wl_run_measure_idle(const struct wl_active_run *run)
{
    const struct wl_signals *signals = run->opts->signals;
    struct pollfd coming = { .fd = signals ? wl_signals_fd(signals) : -1, .events = POLLIN };
    if (run->opts->idle_s > 0) poll(&coming, 1, (int)(run->opts->idle_s * 1e3));
}

void wl_run_check_store(struct wl_active_run *run)
{
    if (!run->recorder.store_rc || run->store_failure_logged) return;
    run->store_failure_logged = true;
    if (run->opts->pass_through)
        wl_log(WL_ERROR, "store", "%s; the command continues, but nothing more of it is stored",
               run->recorder.store_err.msg);
    else
        wl_job_stop(run->command.job, false);
}

/* CPU time of this process since cpu0; its children, guard and job, are not included. */
static double own_cpu_s(const struct wl_active_run *run)
{
    return (double)(wl_clock_process_cpu_ns() - run->cpu0_ns) / WL_NS_PER_S;
}

/* Time that the idle machine was measured, NAN: none. */
static double idle_s(const struct wl_active_run *run) { return run->opts->idle_s > 0 ? run->opts->idle_s : NAN; }

/* Did another wattlaw measure on this node? NAN: not known. */
static double other_run(const struct wl_active_run *run) { return run->sharing.seen ? 1 : run->sharing.why ? NAN : 0; }

/* Reads the caps back, then restores what was set before. */
static void end_caps(struct wl_active_run *run)
{
    struct wl_err e;
    struct wl_run_result *out = run->out;
    if (!run->caps) return;
    const char *changed = wl_caps_check(run->caps);
    if (changed) wl_log(WL_WARN, "cap", "%s: the run is flagged", changed);
    if (changed) out->flag = changed;
    out->caps = wl_caps_settings(run->caps, &out->n_caps);
    int rc = wl_caps_release(run->caps, &e);
    if (rc == 0 && run->opts->multinode) wl_multinode_caps_restored(run->opts->multinode);
    if (rc == 0) return;
    out->caps_left = wl_strdup(run->a, e.msg);
    wl_log(WL_ERROR, "cap", "%s", e.msg);
    wl_recorder_note(&run->recorder, "error", "cap", e.msg);
}

static void fill_achieved(struct wl_active_run *run)
{
    struct wl_run_result *out = run->out;
    out->achieved = wl_new_array(run->a, const char *, out->n_caps);
    for (size_t i = 0; i < out->n_caps; i++) out->achieved[i] = wl_run_cap_achieved(out, &out->caps[i], run->a);
}

/* Which sensors measured, so that numbers can be traced to drivers, and what they noticed. */
static void note_sensors(struct wl_active_run *run)
{
    const struct wl_sensors *s = run->recorder.sensors;
    struct wl_run_result *out = run->out;
    for (size_t i = 0; i < s->n_info; i++) {
        const struct wl_sensor_info *info = &s->info[i];
        if (info->state != WL_SENSOR_OPEN || info->n_channels == 0) continue;
        wl_recorder_note(&run->recorder, "info", info->name, info->source);
        if (info->reason) wl_recorder_note(&run->recorder, "info", info->name, info->reason);
    }
    wl_sensors_notes(s, &out->notes, run->a);
    const char *shared = wl_node_sharing_note(&run->sharing);
    if (shared) wl_strs_add(run->a, &out->notes, shared);
    for (size_t i = 0; i < out->notes.n; i++) wl_recorder_note(&run->recorder, "warn", "power", out->notes.v[i]);
}

/* What a job that failed would have printed is not known. */
static void note_output(struct wl_active_run *run)
{
    struct wl_run_result *out = run->out;
    if (out->status != WL_RUN_DONE) return;
    out->unmatched = wl_run_command_unmatched(&run->command);
    for (size_t i = 0; i < out->unmatched.n; i++) {
        wl_strs_add(run->a, &out->notes, out->unmatched.v[i]);
        wl_recorder_note(&run->recorder, "warn", "mark", out->unmatched.v[i]);
    }
}

static void note_gaps(struct wl_active_run *run)
{
    struct wl_anchor now = wl_anchor_now();
    const char *jump = wl_gaps_clock_step(&run->begin, &now, run->a);
    run->out->gaps = wl_gaps_list(run->recorder.sensors, run->recorder.sampler, run->a);
    for (size_t i = 0; i < run->out->gaps.n; i++)
        wl_recorder_note(&run->recorder, "warn", "power", run->out->gaps.v[i]);
    if (!jump) return;
    wl_log(WL_WARN, "campaign", "%s", jump);
    wl_recorder_note(&run->recorder, "warn", "campaign", jump);
}

static void query_slurm(struct wl_active_run *run)
{
    struct wl_anchor start = wl_anchor_at(run->out->start_ns), end = wl_anchor_at(run->out->end_ns);
    if (run->out->not_started || run->opts->multinode) return; /* of all nodes together the job asks */
    run->out->slurm = wl_slurm_energy_query(&start, &end, run->opts->slurm_config, run->a);
}

static struct wl_run_end end_row(struct wl_active_run *run)
{
    const struct wl_run_result *out = run->out;
    const struct wl_sampler_stats *s = &out->sampling;
    struct wl_run_end end = wl_run_end_none;
    end.status = out->status;
    const struct wl_process_result *exit = run->opts->local_ranks ? &run->peers.exit : &out->exit;
    if (exit->signal)
        end.signal = exit->signal;
    else if (!out->not_started)
        end.exit_status = exit->status;
    end.error = out->error;
    end.flag = out->flag;
    end.log_tail = out->log_tail;
    end.at = wl_anchor_at(out->end_ns);
    end.sampling_asked_s = s->period_s;
    end.sampling_period_s = s->achieved_period_s;
    end.ticks = (double)s->ticks;
    end.ticks_skipped = (double)s->skipped;
    end.samples_lost = (double)s->lost;
    end.own_cpu_s = own_cpu_s(run);
    end.sampler_cpu = out->sampler_cpu;
    end.idle_s = idle_s(run);
    end.other_run = out->other_run;
    end.cooldown = out->cooldown;
    end.slurm = out->slurm;
    end.caps = wl_run_cap_rows(out, run->a);
    end.n_caps = out->n_caps;
    return end;
}

static int store_end(struct wl_active_run *run, struct wl_err *e)
{
    struct wl_run_result *out = run->out;
    struct wl_recorder *r = &run->recorder;
    fill_achieved(run);
    out->derived.actual.hardware = wl_hardware_name(r->sensors, run->a);
    if (!out->derived.actual.workload) out->derived.actual.workload = run->opts->workload;
    out->log_tail = wl_run_command_log_tail(&run->command, out->status);
    struct wl_run_end end = end_row(run);
    out->own_cpu_s = end.own_cpu_s;
    return wl_store_run_end(r->store, r->run, &end, &out->derived, e);
}

static int derive_and_store(struct wl_active_run *run, struct wl_err *e)
{
    struct wl_run_result *out = run->out;
    struct wl_derive_opts opts = { .start_ns = out->start_ns,
                                   .end_ns = out->end_ns,
                                   .period_s = out->sampling.period_s,
                                   .idle_s = idle_s(run),
                                   .own_cpu_s = own_cpu_s(run),
                                   .other_run = out->other_run };
    int rc = wl_derive(run->recorder.store, run->recorder.run, &opts, &out->derived, &out->scope_label, run->a, e);
    return rc < 0 ? rc : store_end(run, e);
}

/* A run whose numbers cannot be stored is closed without them, as failed: left open it would be repeated by each sweep,
 * and end it. A store that cannot be written at all (WL_EIO, WL_EPERM) stays the error that it is. */
static int close_run(struct wl_active_run *run, struct wl_err *e)
{
    struct wl_run_result *out = run->out;
    struct wl_err again;
    int rc = derive_and_store(run, e);
    if (rc != WL_EINVAL && rc != WL_ELIB) return rc;
    const char *why = wl_strf(run->a, "its epochs and energies cannot be stored: %s", e->msg);
    if (out->status == WL_RUN_DONE) {
        out->status = WL_RUN_FAILED;
        out->error = why;
    }
    out->derived = (struct wl_derived) { .actual = wl_settings_none };
    out->scope_label = NULL;
    if (store_end(run, &again) < 0) return rc;
    wl_log(WL_ERROR, "store", "run %lld: %s", (long long)run->recorder.run, why);
    return 0;
}

int wl_run_finish(struct wl_active_run *run, struct wl_err *e)
{
    struct wl_run_result *out = run->out;
    struct wl_recorder *r = &run->recorder;
    if (!out->not_started) {
        wl_sampler_edges(r->sampler, WL_EDGES_AFTER);
        wl_run_measure_idle(run);
    }
    wl_sampler_stop(r->sampler);
    out->end_ns = run->command.end.t_ns;
    if (run->opts->local_ranks) wl_peer_ranks_judge(&run->peers, out);
    end_caps(run);
    note_sensors(run);
    note_output(run);
    wl_recorder_finish(r);
    if (run->opts->watch) run->opts->watch->on_end(run->opts->watch->ctx, run);
    if (run->has_parts && !out->flag) out->flag = "its caps were changed: its windows are runs of their own";
    query_slurm(run); /* takes seconds: everything is stored by now */
    wl_sampler_stats(r->sampler, &out->sampling);
    note_gaps(run);
    out->broken_marks = r->broken_marks;
    out->sampler_cpu = run->power->sampler_cpu < 0 ? NAN : (double)run->power->sampler_cpu;
    out->other_run = other_run(run);
    out->sensors = r->sensors;
    out->device_ids = r->device_ids;
    out->channel_ids = r->channel_ids;
    if (!r->store_rc) wl_recorder_store_failed(r, close_run(run, e), e);
    wl_run_check_store(run);
    if (run->opts->local_ranks) wl_local_ranks_close(run->opts->local_ranks);
    return r->store_rc ? wl_fail(e, r->store_rc, "%s", r->store_err.msg) : 0;
}
