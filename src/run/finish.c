/* How a measured run ends, and what of it is stored then. */
#include "run/active_run.h"
#include "run/internal.h"

#include <math.h>

enum { LOG_TAIL_BYTES = 4096 };

void wl_run_measure_idle(const struct wl_active_run *l)
{
    const struct wl_signals *signals = l->how->signals;
    struct pollfd coming = { .fd = signals ? wl_signals_fd(signals) : -1, .events = POLLIN };
    if (l->how->idle_s > 0) poll(&coming, 1, (int)(l->how->idle_s * 1e3));
}

void wl_run_check_store(struct wl_active_run *l)
{
    if (!l->record.store_rc || l->told) return;
    l->told = true;
    if (l->how->pass_through)
        wl_log(WL_ERROR, "store", "%s; the command goes on without being stored", l->record.store_err.msg);
    else
        wl_job_stop(l->task.job, false);
}

/* What the kernel has accounted to this process since cpu0; its children, guard and job, are not in it. */
static double own_cpu_s(const struct wl_active_run *l)
{
    return (double)(wl_clock_process_cpu_ns() - l->cpu0_ns) / WL_NS_PER_S;
}

/* The rest that was measured, NAN: none. */
static double idle_s(const struct wl_active_run *l) { return l->how->idle_s > 0 ? l->how->idle_s : NAN; }

/* Read back and put back. */
static void end_caps(struct wl_active_run *l)
{
    struct wl_err e;
    struct wl_run_result *out = l->out;
    if (!l->caps) return;
    out->flag = wl_caps_check(l->caps);
    out->caps = wl_caps_settings(l->caps, &out->n_caps);
    int rc = wl_caps_release(l->caps, &e);
    if (out->flag) wl_log(WL_WARN, "cap", "%s: the run is flagged", out->flag);
    if (rc == 0 && l->how->fleet) wl_multinode_caps_restored(l->how->fleet);
    if (rc == 0) return;
    out->caps_left = wl_strdup(l->a, e.msg);
    wl_log(WL_ERROR, "cap", "%s", e.msg);
    wl_recorder_note(&l->record, "error", "cap", e.msg);
}

static void fill_achieved(struct wl_active_run *l)
{
    struct wl_run_result *out = l->out;
    out->achieved = wl_new_array(l->a, const char *, out->n_caps);
    for (size_t i = 0; i < out->n_caps; i++) out->achieved[i] = wl_run_cap_achieved(out, &out->caps[i], l->a);
}

/* What measured, so that numbers can be traced to drivers, and what the sensors have noticed. */
static void note_sensors(struct wl_active_run *l)
{
    const struct wl_sensors *s = l->record.sensors;
    struct wl_run_result *out = l->out;
    for (size_t i = 0; i < s->n_info; i++) {
        const struct wl_sensor_info *info = &s->info[i];
        if (info->state != WL_SENSOR_OPEN || info->n_channels == 0) continue;
        wl_recorder_note(&l->record, "info", info->name, info->source);
        if (info->reason) wl_recorder_note(&l->record, "info", info->name, info->reason);
    }
    wl_sensors_notes(s, &out->notes, l->a);
    const char *shared = wl_node_sharing_note(&l->sharing);
    if (shared) wl_strs_add(l->a, &out->notes, shared);
    for (size_t i = 0; i < out->notes.n; i++) wl_recorder_note(&l->record, "warn", "power", out->notes.v[i]);
}

static void note_gaps(struct wl_active_run *l)
{
    struct wl_anchor now = wl_anchor_now();
    const char *jump = wl_gaps_clock_step(&l->began, &now, l->a);
    l->out->gaps = wl_gaps_list(l->record.sensors, l->record.sampler, l->a);
    for (size_t i = 0; i < l->out->gaps.n; i++) wl_recorder_note(&l->record, "warn", "power", l->out->gaps.v[i]);
    if (!jump) return;
    wl_log(WL_WARN, "campaign", "%s", jump);
    wl_recorder_note(&l->record, "warn", "campaign", jump);
}

static void query_slurm(struct wl_active_run *l)
{
    struct wl_anchor start = wl_anchor_at(l->out->start_ns), end = wl_anchor_at(l->out->end_ns);
    if (!l->out->not_started) l->out->slurm = wl_slurm_energy_query(&start, &end, l->a);
}

static struct wl_run_end end_row(struct wl_active_run *l)
{
    const struct wl_run_result *out = l->out;
    const struct wl_sampler_stats *s = &out->sampling;
    const char *log_path = l->task.log_path;
    struct wl_run_end end = wl_run_end_none;
    end.status = out->status;
    const struct wl_process_result *exit = l->how->team ? &l->mates.exit : &out->exit;
    if (exit->signal)
        end.signal = exit->signal;
    else if (!out->not_started)
        end.exit_status = exit->status;
    end.error = out->error;
    end.flag = out->flag;
    end.log_tail = log_path && out->status != WL_RUN_DONE ? wl_file_tail(log_path, LOG_TAIL_BYTES, l->a) : NULL;
    end.at = wl_anchor_at(out->end_ns);
    end.sampling_asked_s = s->period_s;
    end.sampling_period_s = s->achieved_period_s;
    end.ticks = (double)s->ticks;
    end.ticks_skipped = (double)s->skipped;
    end.samples_lost = (double)s->lost;
    end.own_cpu_s = own_cpu_s(l);
    end.sampler_cpu = out->sampler_cpu;
    end.idle_s = idle_s(l);
    end.cooldown = out->cooldown;
    end.slurm = out->slurm;
    end.caps = wl_run_cap_rows(out, l->a);
    end.n_caps = out->n_caps;
    return end;
}

static int store_end(struct wl_active_run *l, struct wl_err *e)
{
    struct wl_run_result *out = l->out;
    struct wl_recorder *r = &l->record;
    int rc = wl_derive(r->store, r->run, out->start_ns, out->end_ns, out->sampling.period_s, idle_s(l), &out->derived,
                       &out->scope_label, l->a, e);
    if (rc < 0) return rc;
    fill_achieved(l);
    out->derived.actual.hardware = wl_hardware_name(r->sensors, l->a);
    if (!out->derived.actual.workload) out->derived.actual.workload = l->how->workload;
    struct wl_run_end end = end_row(l);
    out->own_cpu_s = end.own_cpu_s;
    return wl_store_run_end(r->store, r->run, &end, &out->derived, e);
}

int wl_run_finish(struct wl_active_run *l, struct wl_err *e)
{
    struct wl_run_result *out = l->out;
    struct wl_recorder *r = &l->record;
    if (!out->not_started) {
        wl_sampler_edges(r->sampler, WL_EDGES_AFTER);
        wl_run_measure_idle(l);
    }
    wl_sampler_stop(r->sampler);
    out->end_ns = l->task.end.t_ns;
    if (l->how->team) wl_peer_ranks_judge(&l->mates, out);
    end_caps(l);
    note_sensors(l);
    wl_recorder_finish(r);
    query_slurm(l); /* takes seconds, in which nothing may be lost */
    wl_sampler_stats(r->sampler, &out->sampling);
    note_gaps(l);
    out->broken_marks = r->broken_marks;
    out->sampler_cpu = l->power->sampler_cpu < 0 ? NAN : (double)l->power->sampler_cpu;
    out->sensors = r->sensors;
    out->device_ids = r->device_ids;
    out->channel_ids = r->channel_ids;
    if (!r->store_rc) wl_recorder_store_failed(r, store_end(l, e), e);
    wl_run_check_store(l);
    if (l->how->team) wl_local_ranks_close(l->how->team);
    return r->store_rc ? wl_fail(e, r->store_rc, "%s", r->store_err.msg) : 0;
}
