/* The campaigns of a store, as `wattlaw status` counts them. */
#include "cmd/wattlaw/campaign_status.h"
#include "cmd/wattlaw/serve/internal.h"

#include <math.h>

enum { FAILED_MAX = 100 };

/* What all parts need. */
struct overview {
    const struct wl_footprint *footprint; /* of this store */
    size_t number;
    struct wl_arena *a;
};

static const char *id_of(const struct overview *v, int64_t run)
{
    return wl_strf(v->a, "%zu-%lld", v->number, (long long)run);
}

static void add_counts(struct wl_json *o, const struct wl_campaign_status *st)
{
    struct wl_json *runs = wl_json_add_object(o, "runs");
    const struct {
        const char *name;
        size_t n;
    } counts[] = {
        { "all", wl_status_all(st) },
        { "done", st->count[WL_RUN_DONE] },
        { "running", st->count[WL_RUN_RUNNING] - st->dead },
        { "failed", st->count[WL_RUN_FAILED] },
        { "interrupted", st->count[WL_RUN_INTERRUPTED] + st->dead },
        { "planned", st->count[WL_RUN_PLANNED] },
        { "flagged", st->flagged },
        { "waiting", st->waiting },
        { "in_jobs", st->in_job },
        { "to_collect", st->ended },
    };
    for (size_t i = 0; i < WL_COUNT(counts); i++) wl_json_add_int(runs, counts[i].name, (int64_t)counts[i].n);
}

static void add_left(struct wl_json *o, const struct wl_campaign_status *st)
{
    wl_json_add_int(o, "left", (int64_t)wl_status_left(st));
    wl_json_add_real(o, "left_s", st->left_s);
    wl_json_add_bool(o, "has_queue", st->has_queue);
    if (!st->has_queue) return;
    struct wl_json *range = wl_json_add_array(o, "left_range_s");
    wl_json_add_real(range, NULL, st->rate.lo_s);
    wl_json_add_real(range, NULL, st->rate.hi_s);
}

static void add_footprint(struct wl_json *used, const struct overview *v, double energy_j)
{
    const struct wl_footprint *f = v->footprint;
    const double site_kwh = energy_j / WL_J_PER_KWH * (isnan(f->pue) ? 1 : f->pue);
    if (!isnan(f->carbon)) wl_json_add_real(used, "carbon_g", site_kwh * f->carbon);
    if (isnan(f->price)) return;
    wl_json_add_real(used, "cost", site_kwh * f->price);
    wl_json_add_str(used, "currency", f->currency);
}

static void add_used(struct wl_json *o, const struct overview *v, const struct wl_campaign_status *st)
{
    struct wl_json *used = wl_json_add_object(o, "used");
    const bool none = st->used.energy_missing && st->used.energy.value == 0;
    const double energy_j = none ? NAN : st->used.energy.value;
    wl_json_add_real(used, "energy_j", energy_j);
    wl_json_add_bool(used, "energy_complete", !st->used.energy_missing);
    wl_json_add_real(used, "core_hours", st->used.core_s / 3600);
    wl_json_add_real(used, "gpu_hours", st->used.gpu_s / 3600);
    wl_json_add_bool(used, "estimated", st->used.energy.from & WL_ESTIMATED);
    wl_json_add_bool(used, "simulated", st->used.energy.from & WL_SIMULATED);
    add_footprint(used, v, energy_j);
}

static void add_failed(struct wl_json *o, const struct overview *v, const struct wl_campaign_status *st)
{
    struct wl_json *list = wl_json_add_array(o, "failed");
    for (size_t i = 0; i < st->n_failed && i < FAILED_MAX; i++) {
        const struct wl_run_row *r = st->failed[i];
        struct wl_json *run = wl_json_add_object(list, NULL);
        wl_json_add_str(run, "id", id_of(v, r->id));
        wl_json_add_str(run, "settings", wl_settings_text(&r->set, v->a));
        wl_json_add_str(run, "words", wl_settings_words(&r->set, v->a));
        wl_json_add_int(run, "repeat", r->repeat);
        wl_json_add_str(run, "error", wl_cmd_run_end(r, v->a));
    }
}

static void add_time(struct wl_json *o, const char *name, int64_t wall_ns)
{
    wl_json_add_number(o, name, wall_ns == WL_NO_NS ? NAN : (double)(wall_ns / (WL_NS_PER_S / 1000)));
}

/* What people asked for, and what came of it; a campaign of measure cannot be asked. */
static void add_control(struct wl_json *to, const struct overview *v, const struct wl_campaign_status *st)
{
    const struct wl_control_state *c = &st->control;
    if (!st->campaign->experiment || !*st->campaign->experiment) {
        wl_json_add_null(to, "control");
        return;
    }
    struct wl_json *o = wl_json_add_object(to, "control"), *list;
    wl_json_add_bool(o, "paused", c->paused);
    wl_json_add_str(o, "by", c->by);
    add_time(o, "since_ms", c->paused ? c->since_wall_ns : WL_NO_NS);
    if (c->sweep < 0)
        wl_json_add_null(o, "sweep");
    else
        wl_json_add_bool(o, "sweep", c->sweep > 0);
    list = wl_json_add_array(o, "requests");
    for (size_t i = 0; i < st->requests.n; i++) {
        const struct wl_control_row *r = &st->requests.v[i];
        struct wl_json *one = wl_json_add_object(list, NULL);
        wl_json_add_str(one, "action", r->action);
        wl_json_add_str(one, "run", r->run ? id_of(v, r->run) : NULL);
        wl_json_add_str(one, "by", r->asked_by);
        add_time(one, "asked_ms", r->asked_wall_ns);
        add_time(one, "acted_ms", r->acted_wall_ns);
        wl_json_add_str(one, "outcome", r->outcome);
    }
}

static void add_campaign(struct wl_json *list, const struct overview *v, const struct wl_campaign_status *st)
{
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_str(o, "campaign", st->campaign->name);
    wl_json_add_str(o, "started", wl_clock_iso(v->a, st->campaign->created_wall_ns));
    wl_json_add_str(o, "version", st->campaign->version);
    add_counts(o, st);
    add_control(o, v, st);
    add_left(o, st);
    wl_json_add_real(o, "time_s", st->time_s);
    add_used(o, v, st);
    add_failed(o, v, st);
    struct wl_json *running = wl_json_add_array(o, "running");
    for (size_t i = 0; i < st->n_running; i++) wl_json_add_str(running, NULL, id_of(v, st->running[i]->id));
}

/* Carbon and cost of the store's experiments where no option gives them. What cannot be had is left out: a page that
 * shows progress is not refused for it. */
static struct wl_footprint footprint_of(const struct wl_serve_context *c, const char *path, struct wl_arena *a)
{
    struct wl_footprint f = *c->footprint;
    struct wl_strs notes = { 0 };
    struct wl_store *store;
    struct wl_err e;
    int rc = wl_store_open(&store, path, WL_STORE_READ, a, &e);
    if (rc == 0) rc = wl_cmd_footprint_of_store(&f, store, 0, &notes, a, &e);
    if (rc == 0) rc = wl_cmd_footprint_complete(&f, a, &e);
    if (rc) f.carbon = f.price = NAN;
    return f;
}

int wl_serve_overview(void *ctx, const char *path, size_t number, struct wl_json *to, struct wl_arena *a,
                      struct wl_err *e)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct wl_opts_args rest = { 0 };
    struct wl_status status;
    wl_strs_add(scratch, &rest.args, path);
    const int rc = wl_status_read(NULL, &rest, &status, scratch, e);
    if (rc == 0) {
        const struct wl_footprint footprint = footprint_of(ctx, path, scratch);
        const struct overview v = { &footprint, number, scratch };
        struct wl_json *list = wl_json_add_array(to, "campaigns");
        for (size_t i = 0; i < status.n; i++) add_campaign(list, &v, &status.v[i]);
    }
    wl_arena_free(scratch);
    return rc;
}
