#include "known_answer_store.h"

#include <math.h>

const struct known_answer_run known_answer_runs[KNOWN_ANSWER_RUNS] = {
    { 1, NAN, 3600, 40, .5, 40, .10, .05, .12 }, { 1, NAN, 2304, 60, .7, 60, .30, .15, .28 },
    { 4, NAN, 1800, 40, .5, 70, .20, .05, .20 }, { 4, NAN, 1152, 60, .7, 70, .20, .05, .20 },
    { 16, NAN, 900, 40, .5, 90, .10, .05, .10 }, { 16, NAN, 576, 60, .7, 90, .10, .05, .10 },
};

enum { EPOCHS = 3, READINGS = 5 };
static const int64_t second_ns = 1000000000, first_wall_ns = 1700000000LL * 1000000000; /* 2023-11-14T22:13:20Z */

struct making {
    const struct hand *h;
    struct wl_store *store;
    int64_t campaign, now_ns;
    struct wl_arena *arena;
};

static struct wl_anchor anchor(int64_t mono_ns) { return (struct wl_anchor) { mono_ns, first_wall_ns + mono_ns }; }

/* One channel with a reading in the middle of each fifth of the run. */
static int add_channel(struct making *k, const struct wl_channel_row *row, const double *values, int64_t span_ns,
                       struct wl_err *e)
{
    struct wl_sample_row samples[READINGS];
    int64_t id;
    int rc = wl_store_add_channel(k->store, row, &id, e);
    for (int i = 0; i < READINGS; i++)
        samples[i] = (struct wl_sample_row) { id, k->now_ns + (2 * i + 1) * span_ns / (2 * READINGS), values[i] };
    return rc ? rc : wl_store_add_samples(k->store, samples, READINGS, e);
}

static int add_device(struct making *k, const struct known_answer_run *r, int64_t run, int64_t span_ns, int64_t *id,
                      struct wl_err *e)
{
    const bool model = k->h->estimated;
    const double watts = r->workers * r->watts;
    const double power[READINGS] = { watts, watts, watts, watts, watts }, busy[READINGS] = { 10, 20, 30, 40, 50 };
    struct wl_device_row device = {
        .host = "node01", .uuid = "dev-0", .number = 0, .sensor = model ? "cpu_model" : "rapl", .name = "Hand-made CPU"
    };
    int rc = wl_store_add_device(k->store, &device, id, e);
    struct wl_channel_row c = { .run = run,
                                .device = *id,
                                .quantity = "power_w",
                                .unit = "W",
                                .scope = "package",
                                .variant = "mean",
                                .estimated = model,
                                .simulated = k->h->simulated,
                                .update_s = NAN,
                                .window_s = NAN,
                                .delay_s = NAN,
                                .power_limit_w = NAN };
    if (rc == 0 && !k->h->no_energy) rc = add_channel(k, &c, power, span_ns, e);
    c.quantity = "cpu_util_pct";
    c.unit = "%";
    c.scope = "node";
    c.variant = "";
    c.estimated = false;
    return rc ? rc : add_channel(k, &c, busy, span_ns, e);
}

static struct wl_energy_row energy_of(const struct making *k, double epoch, int64_t device, double seconds,
                                      double watts)
{
    const double energy_j = seconds * watts;
    return (struct wl_energy_row) { .epoch = epoch,
                                    .device = device,
                                    .scope = "package",
                                    .method = "integral",
                                    .energy_j = energy_j,
                                    .mean_power_w = watts,
                                    .coverage = 1,
                                    .energy_lo_j = .9 * energy_j,
                                    .energy_hi_j = 1.1 * energy_j,
                                    .idle_before_w = NAN,
                                    .idle_after_w = NAN,
                                    .idle_j = .25 * energy_j,
                                    .estimated = k->h->estimated,
                                    .simulated = k->h->simulated,
                                    .chosen = true };
}

static int finish_run(struct making *k, const struct known_answer_run *r, int64_t run, struct wl_err *e)
{
    struct wl_epoch_row epochs[EPOCHS];
    struct wl_energy_row energies[EPOCHS + 1];
    struct wl_metric_row metrics[2 * EPOCHS];
    const int64_t span_ns = (int64_t)(4 * r->time_s) * second_ns;
    int64_t device, at = k->now_ns;
    int rc = add_device(k, r, run, span_ns, &device, e);
    for (int i = 0; i < EPOCHS; i++) {
        const double seconds = i ? r->time_s : 2 * r->time_s;
        epochs[i] = (struct wl_epoch_row) { i + 1, at, at + (int64_t)seconds * second_ns, seconds, 640, 20 };
        at = epochs[i].end_ns;
        energies[i] = energy_of(k, i + 1, device, seconds, r->workers * r->watts);
        metrics[2 * i] = (struct wl_metric_row) { i + 1, "val_top1", r->accuracy + .1 * i };
        metrics[2 * i + 1] = (struct wl_metric_row) { i + 1, "train_loss", 3 - i };
    }
    energies[EPOCHS] = energy_of(k, NAN, device, 4 * r->time_s, r->workers * r->watts);
    const struct wl_variation_row busy = { .quantity = "cpu_util_pct",
                                           .devices = 1,
                                           .instants = READINGS,
                                           .mean = r->busy_pct,
                                           .mean_lo = NAN,
                                           .mean_hi = NAN,
                                           .cv_time = r->cv_time,
                                           .cv_time_lo = NAN,
                                           .cv_time_hi = NAN,
                                           .cv_devices = r->cv_dev,
                                           .cv_devices_lo = NAN,
                                           .cv_devices_hi = NAN,
                                           .cv_pooled = r->cv,
                                           .cv_pooled_lo = NAN,
                                           .cv_pooled_hi = NAN };
    const struct wl_derived derived = { .actual = wl_settings_none,
                                        .epochs = epochs,
                                        .n_epochs = EPOCHS,
                                        .energies = energies,
                                        .n_energies = k->h->no_energy ? 0 : EPOCHS + 1,
                                        .metrics = metrics,
                                        .n_metrics = WL_COUNT(metrics),
                                        .variations = &busy,
                                        .n_variations = 1 };
    struct wl_run_end end = wl_run_end_none;
    end.exit_status = 0;
    end.at = anchor(k->now_ns + span_ns);
    end.sampling_asked_s = end.sampling_period_s = 4 * r->time_s / READINGS;
    end.ticks = READINGS;
    end.ticks_skipped = end.samples_lost = 0;
    end.own_cpu_s = .001 * 4 * r->time_s;
    k->now_ns += span_ns + 3600 * second_ns;
    return rc ? rc : wl_store_run_end(k->store, run, &end, &derived, e);
}

static int make_run(struct making *k, const struct known_answer_run *r, int64_t position, struct wl_err *e)
{
    struct wl_settings set = wl_settings_none;
    int64_t trial, run;
    set.workload = r->workload ? r->workload : "net";
    set.workers = r->workers;
    set.local_batch = r->local_batch == 0 ? 32 : r->local_batch;
    set.global_batch = set.local_batch * r->workers;
    set.power_cap_w = r->cap_w;
    set.extra = r->extra;
    int rc = wl_store_add_trial(k->store, k->campaign, &set, NULL, &trial, e);
    struct wl_run_plan plan = { .trial = trial, .position = position };
    struct wl_run_begin begin = {
        .host = "node01", .boot_id = "boot", .command = "train net", .version = "0.1.0", .at = anchor(k->now_ns)
    };
    if (rc == 0) rc = wl_store_plan_run(k->store, &plan, &run, e);
    if (rc == 0) rc = wl_store_run_begin(k->store, run, &begin, e);
    return rc ? rc : finish_run(k, r, run, e);
}

int known_answer_store(const char *path, const struct hand *h, struct wl_arena *a, struct wl_err *e)
{
    struct making k = { .h = h, .arena = a };
    int rc = wl_store_open(&k.store, path, WL_STORE_CREATE, a, e);
    if (rc == 0) rc = wl_store_add_campaign(k.store, "hand", "[campaign]\nname = hand\n", "0.1.0", &k.campaign, e);
    for (size_t i = 0; rc == 0 && i < h->n; i++) rc = make_run(&k, &h->runs[i], (int64_t)i, e);
    wl_store_close(k.store);
    return rc;
}
