#include "cmd/wattlaw/campaign_status.h"

#include <math.h>

static void add_failed(struct wl_json *list, const struct wl_run_row *r, struct wl_arena *a)
{
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_int(o, "run", r->id);
    wl_json_add_int(o, "repeat", r->repeat);
    wl_cmd_settings_json(&r->set, wl_json_add_object(o, "settings"));
    wl_json_add_str(o, "error", wl_cmd_run_end(r, a));
    wl_json_add_number(o, "exit_status", r->exit_status);
    wl_json_add_number(o, "signal", r->signal);
    wl_json_add_str(o, "log_tail", r->log_tail);
}

static void add_used(struct wl_json *o, const struct wl_campaign_status *st)
{
    struct wl_json *used = wl_json_add_object(o, "used");
    wl_json_add_real(used, "core_hours", st->used.core_s / 3600);
    wl_json_add_real(used, "gpu_hours", st->used.gpu_s / 3600);
    wl_json_add_real(used, "energy_j",
                     st->used.energy_missing && st->used.energy.value == 0 ? NAN : st->used.energy.value);
    wl_json_add_bool(used, "energy_complete", !st->used.energy_missing);
    wl_json_add_bool(used, "estimated", st->used.energy.from & WL_ESTIMATED);
    wl_json_add_bool(used, "simulated", st->used.energy.from & WL_SIMULATED);
}

static void add_beside(struct wl_json *o, const struct wl_campaign_status *st)
{
    if (st->beside.beside == 0) return;
    struct wl_json *beside = wl_json_add_object(o, "neighbours");
    wl_json_add_int(beside, "runs", (int64_t)st->beside.runs);
    wl_json_add_int(beside, "with_neighbours", (int64_t)st->beside.beside);
    wl_json_add_real(beside, "effect_pct", st->beside.pct);
    wl_json_add_real(beside, "effect_lo_pct", st->beside.lo);
    wl_json_add_real(beside, "effect_hi_pct", st->beside.hi);
}

static void add_left(struct wl_json *o, const struct wl_campaign_status *st)
{
    wl_json_add_real(o, "left_s", st->left_s);
    if (!st->has_queue) return;
    struct wl_json *queue = wl_json_add_object(o, "queue_rate");
    wl_json_add_int(queue, "runs_ended", (int64_t)st->rate.ended);
    wl_json_add_real(queue, "in_s", st->rate.since_s);
    wl_json_add_real(queue, "left_lo_s", st->rate.lo_s);
    wl_json_add_real(queue, "left_hi_s", st->rate.hi_s);
}

static void add_campaign(struct wl_json *list, const struct wl_campaign_status *st, bool steady, struct wl_arena *a)
{
    struct wl_json *o = wl_json_add_object(list, NULL), *runs;
    wl_json_add_str(o, "campaign", st->campaign->name);
    wl_json_add_str(o, "started", wl_clock_iso(a, st->campaign->created_wall_ns));
    wl_json_add_str(o, "version", st->campaign->version);
    runs = wl_json_add_object(o, "runs");
    wl_json_add_int(runs, "all", (int64_t)wl_status_all(st));
    wl_json_add_int(runs, "done", (int64_t)st->count[WL_RUN_DONE]);
    wl_json_add_int(runs, "running", (int64_t)(st->count[WL_RUN_RUNNING] - st->dead));
    wl_json_add_int(runs, "failed", (int64_t)st->count[WL_RUN_FAILED]);
    wl_json_add_int(runs, "interrupted", (int64_t)(st->count[WL_RUN_INTERRUPTED] + st->dead));
    wl_json_add_int(runs, "planned", (int64_t)st->count[WL_RUN_PLANNED]);
    wl_json_add_int(runs, "waiting_in_queue", (int64_t)st->waiting);
    wl_json_add_int(runs, "running_in_jobs", (int64_t)st->in_job);
    wl_json_add_int(runs, "not_collected", (int64_t)st->ended);
    wl_json_add_int(runs, "left", (int64_t)wl_status_left(st));
    wl_json_add_int(runs, "flagged", (int64_t)st->flagged);
    wl_json_add_bool(o, "paused", st->control.paused);
    wl_json_add_real(o, "time_s", st->time_s);
    wl_json_add_real(o, "energy_j", st->energy_missing && st->energy.value == 0 ? NAN : st->energy.value);
    wl_json_add_bool(o, "energy_complete", !st->energy_missing);
    wl_json_add_bool(o, "estimated", st->energy.from & WL_ESTIMATED);
    wl_json_add_bool(o, "simulated", st->energy.from & WL_SIMULATED);
    add_used(o, st);
    add_beside(o, st);
    if (!steady) add_left(o, st);
    struct wl_json *failed = wl_json_add_array(o, "failed"), *skipped = wl_json_add_array(o, "skipped");
    for (size_t i = 0; i < st->n_failed; i++) add_failed(failed, st->failed[i], a);
    for (size_t i = 0; i < st->n_skipped; i++) {
        struct wl_json *trial = wl_json_add_object(skipped, NULL);
        wl_cmd_settings_json(&st->skipped[i]->set, wl_json_add_object(trial, "settings"));
        wl_json_add_str(trial, "reason", st->skipped[i]->skipped);
    }
}

struct wl_json *wl_status_json(const struct wl_status *all, bool steady, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a), *list = wl_json_add_array(root, "campaigns");
    for (size_t i = 0; i < all->n; i++) add_campaign(list, &all->v[i], steady, a);
    return root;
}
