/* Stores as metrics: progress of their campaigns, and what the runs do that are under way. */
#include "cmd/wattlaw/campaign_status.h"
#include "cmd/wattlaw/serve/internal.h"
#include "live/live.h"

#include <math.h>
#include <stdio.h>

/* Older readings of a run are not of now. */
static const int64_t RECENT_NS = 60 * WL_NS_PER_S;

/* The last reading of a channel of a run that is under way. */
struct reading {
    const struct wl_run_row *run;
    const char *campaign;
    const struct wl_channel_row *channel;
    const struct wl_device_row *device;
    enum wl_quantity quantity;
    double value;
};

struct readings {
    struct reading *v;
    size_t n, cap;
};

struct contents {
    const struct wl_strs *paths;
    struct wl_status *stores; /* [paths->n] */
    struct readings *live;    /* [paths->n] */
    bool *readable;           /* [paths->n] */
    struct wl_arena *a;
};

/* ---- reading ---- */

static const char *campaign_name(const struct wl_status *s, int64_t id)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].campaign->id == id) return s->v[i].campaign->name;
    return NULL;
}

/* The instant of now on the clock of the run's host. */
static int64_t run_now_ns(const struct wl_run_row *r) { return r->start.mono_ns + (wl_wall_ns() - r->start.wall_ns); }

static int read_channel(struct contents *c, size_t store, struct wl_store *s, const struct wl_run_row *r,
                        const struct wl_channel_row *channel, const struct wl_device_rows *devices, struct wl_err *e)
{
    struct readings *to = &c->live[store];
    struct wl_readings found;
    const int quantity = wl_quantity_from(channel->quantity);
    if (quantity < 0) return 0;
    int rc = wl_store_readings(s, channel->id, run_now_ns(r) - RECENT_NS, INT64_MAX, &found, c->a, e);
    if (rc < 0 || found.n == 0) return rc;
    WL_GROW(c->a, to->v, to->n, to->cap);
    struct reading *x = &to->v[to->n++];
    *x = (struct reading) { .run = r,
                            .campaign = campaign_name(&c->stores[store], r->campaign),
                            .channel = channel,
                            .quantity = (enum wl_quantity)quantity,
                            .value = found.value[found.n - 1] };
    for (size_t i = 0; i < devices->n; i++)
        if (devices->v[i].id == channel->device) x->device = &devices->v[i];
    return 0;
}

static int read_run(struct contents *c, size_t store, struct wl_store *s, const struct wl_run_row *r, struct wl_err *e)
{
    struct wl_channel_rows channels;
    struct wl_device_rows devices;
    if (r->start.mono_ns == WL_NO_NS || r->start.wall_ns == WL_NO_NS) return 0;
    int rc = wl_store_show_spool(s, r->id, e);
    if (rc == 0) rc = wl_store_channels(s, r->id, &channels, c->a, e);
    if (rc == 0) rc = wl_store_devices(s, r->id, &devices, c->a, e);
    for (size_t i = 0; rc == 0 && i < channels.n; i++) rc = read_channel(c, store, s, r, &channels.v[i], &devices, e);
    return rc;
}

static int read_store(struct contents *c, size_t i, struct wl_err *e)
{
    struct wl_opts_args rest = { 0 };
    struct wl_store *s;
    wl_strs_add(c->a, &rest.args, c->paths->v[i]);
    int rc = wl_status_read(NULL, &rest, &c->stores[i], c->a, e);
    if (rc == 0) rc = wl_store_open(&s, c->paths->v[i], WL_STORE_READ, c->a, e);
    if (rc < 0) return rc;
    for (size_t k = 0; k < c->stores[i].n; k++)
        for (size_t j = 0; rc == 0 && j < c->stores[i].v[k].n_running; j++)
            rc = read_run(c, i, s, c->stores[i].v[k].running[j], e);
    wl_store_close(s);
    return rc;
}

/* ---- campaigns ---- */

static const char *provenance(enum wl_provenance from) { return from ? wl_provenance_word(from) : "measured"; }

static void label_campaign(struct wl_metrics *m, const struct contents *c, size_t store, size_t campaign)
{
    wl_metrics_label(m, "store", c->paths->v[store]);
    wl_metrics_label(m, "campaign", c->stores[store].v[campaign].campaign->name);
}

/* A store that cannot be read now, such as one that was moved away, does not hide the others. */
static void put_stores(struct wl_metrics *m, const struct contents *c)
{
    static const struct wl_metrics_family family = { "store_readable", NULL, "Whether a store can be read: 1 or 0.",
                                                     WL_METRICS_GAUGE };
    wl_metrics_begin(m, &family);
    for (size_t i = 0; i < c->paths->n; i++) {
        wl_metrics_label(m, "store", c->paths->v[i]);
        wl_metrics_sample(m, c->readable[i]);
    }
}

static void put_counts(struct wl_metrics *m, const struct contents *c)
{
    static const struct wl_metrics_family family = {
        "campaign_runs", NULL, "Runs of a campaign by state; of each repeat the last attempt counts.", WL_METRICS_GAUGE
    };
    wl_metrics_begin(m, &family);
    for (size_t i = 0; i < c->paths->n; i++)
        for (size_t k = 0; k < c->stores[i].n; k++) {
            const struct wl_campaign_status *st = &c->stores[i].v[k];
            const struct {
                const char *state;
                size_t n;
            } states[] = { { "done", st->count[WL_RUN_DONE] },
                           { "failed", st->count[WL_RUN_FAILED] },
                           { "running", wl_status_running(st) },
                           { "waiting", wl_status_waiting(st) } };
            for (size_t j = 0; j < WL_COUNT(states); j++) {
                label_campaign(m, c, i, k);
                wl_metrics_label(m, "state", states[j].state);
                wl_metrics_sample(m, (double)states[j].n);
            }
        }
}

static double left_s(const struct wl_campaign_status *st) { return st->left_s; }
static double used_j(const struct wl_campaign_status *st)
{
    return st->used.energy_missing && !(st->used.energy.value > 0) ? NAN : st->used.energy.value;
}
static double core_s(const struct wl_campaign_status *st) { return st->used.core_s; }
static double gpu_s(const struct wl_campaign_status *st) { return st->used.gpu_s; }

static void put_campaigns(struct wl_metrics *m, const struct contents *c)
{
    static const struct {
        struct wl_metrics_family family;
        double (*value)(const struct wl_campaign_status *st);
        bool energy;
    } families[] = {
        { { "campaign_time_left_seconds", "seconds", "Time that a campaign will still take, by its runs so far.",
            WL_METRICS_GAUGE },
          left_s,
          false },
        { { "campaign_energy_joules", "joules",
            "Energy of all runs of a campaign that have ended; complete: all have one.", WL_METRICS_GAUGE },
          used_j,
          true },
        { { "campaign_core_seconds", "seconds", "CPU cores x time of all runs of a campaign that have ended.",
            WL_METRICS_GAUGE },
          core_s,
          false },
        { { "campaign_gpu_seconds", "seconds", "GPUs x time of all runs of a campaign that have ended.",
            WL_METRICS_GAUGE },
          gpu_s,
          false },
    };
    put_counts(m, c);
    for (size_t f = 0; f < WL_COUNT(families); f++) {
        wl_metrics_begin(m, &families[f].family);
        for (size_t i = 0; i < c->paths->n; i++)
            for (size_t k = 0; k < c->stores[i].n; k++) {
                const struct wl_campaign_status *st = &c->stores[i].v[k];
                label_campaign(m, c, i, k);
                if (families[f].energy) wl_metrics_label(m, "provenance", provenance(st->used.energy.from));
                if (families[f].energy) wl_metrics_label(m, "complete", st->used.energy_missing ? "false" : "true");
                wl_metrics_sample(m, families[f].value(st));
            }
    }
}

/* ---- runs under way ---- */

static void put_reading(struct wl_metrics *m, const struct contents *c, size_t store, const struct reading *x,
                        double factor)
{
    char run[24];
    snprintf(run, sizeof run, "%lld", (long long)x->run->id);
    wl_metrics_label(m, "host", x->device ? x->device->host : NULL);
    wl_metrics_label(m, "device", x->device ? x->device->uuid : NULL);
    wl_metrics_label(m, "sensor", x->device ? x->device->sensor : NULL);
    wl_metrics_label(m, "scope", x->channel->scope);
    wl_metrics_label(m, "provenance", provenance(wl_provenance_of(x->channel->estimated, x->channel->simulated)));
    wl_metrics_label(m, "variant", x->channel->variant);
    if (x->quantity == WL_ENERGY) wl_metrics_label(m, "method", wl_energy_method_name(WL_ENERGY_BY_COUNTER));
    wl_metrics_label(m, "store", c->paths->v[store]);
    wl_metrics_label(m, "campaign", x->campaign);
    wl_metrics_label(m, "run", run);
    wl_metrics_label(m, "workload", x->run->set.workload);
    wl_metrics_sample(m, x->value * factor);
}

static void put_readings(struct wl_metrics *m, const struct contents *c)
{
    for (enum wl_quantity q = 0; q < WL_QUANTITIES; q++) {
        double factor;
        const struct wl_metrics_family *family = wl_live_metrics_family(q, &factor);
        bool begun = false;
        for (size_t i = 0; family && i < c->paths->n; i++)
            for (size_t k = 0; k < c->live[i].n; k++) {
                if (c->live[i].v[k].quantity != q) continue;
                if (!begun) wl_metrics_begin(m, family);
                begun = true;
                put_reading(m, c, i, &c->live[i].v[k], factor);
            }
    }
}

/* ---- all of it ---- */

int wl_serve_metrics(void *ctx, const struct wl_strs *paths, struct wl_metrics *m, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_metrics_family cpu = { "process_cpu_seconds", "seconds", "CPU time of this wattlaw.",
                                                  WL_METRICS_COUNTER };
    struct contents c = { .paths = paths, .a = a };
    (void)ctx;
    c.stores = wl_new_array(a, struct wl_status, paths->n);
    c.live = wl_new_array(a, struct readings, paths->n);
    c.readable = wl_new_array(a, bool, paths->n);
    for (size_t i = 0; i < paths->n; i++) c.readable[i] = read_store(&c, i, e) == 0;
    put_stores(m, &c);
    put_campaigns(m, &c);
    put_readings(m, &c);
    wl_metrics_begin(m, &cpu);
    wl_metrics_sample(m, (double)wl_clock_process_cpu_ns() / WL_NS_PER_S);
    return 0;
}
