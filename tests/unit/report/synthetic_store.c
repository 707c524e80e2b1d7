#include "synthetic_store.h"

#include <math.h>

static const char *const one_workload[] = { "resnet50" };
static const char *const six_workloads[] = { "resnet50", "bert", "vgg16", "schnet", "dimenet", "inception3" };
static const double few[] = { 1, 2 }, many[] = { 2, 4, 8, 16, 32, 64, 128, 256, 424 }, some[] = { 1, 2, 4, 8 };
static const double batches[] = { 8, 16 }, caps[] = { 150, 200, 250 };

const struct made synthetic_small = { .workloads = one_workload,
                                      .n_workloads = 1,
                                      .workers = few,
                                      .n_workers = 2,
                                      .local_batches = batches,
                                      .n_batches = 2,
                                      .repeats = 3,
                                      .epochs = 4,
                                      .devices = 1,
                                      .estimated = true };
const struct made synthetic_large = { .workloads = six_workloads,
                                      .n_workloads = 6,
                                      .workers = many,
                                      .n_workers = 9,
                                      .repeats = 3,
                                      .epochs = 6,
                                      .devices = 8,
                                      .simulated = true };
const struct made synthetic_capped = { .workloads = six_workloads,
                                       .n_workloads = 3,
                                       .workers = some,
                                       .n_workers = 4,
                                       .power_caps_w = caps,
                                       .n_caps = 3,
                                       .repeats = 2,
                                       .epochs = 3,
                                       .devices = 2 };

enum { HZ = 10, SECOND_NS = 1000000000 };

/* A fixed pattern between -1 and 1. */
static double scatter(int64_t i) { return sin(12.9898 * (double)i) * cos(3.1 * (double)i); }

struct making {
    const struct made *m;
    struct wl_store *store;
    int64_t campaign, clock_ns, runs;
    struct wl_arena *arena;
};

/* Amdahl's law with a serial part that depends on the workload; slower under a cap. */
static double epoch_seconds(const struct wl_settings *set, size_t workload, int64_t run)
{
    double scale = isnan(set->local_batch) ? 1 : 1 + 4 / set->local_batch;
    double slow = isnan(set->power_cap_w) ? 1 : 1 + 20 / set->power_cap_w;
    double serial = .01 + .02 * (double)workload;
    return 6 * (1 + (double)workload) * scale * slow *
           ((1 - serial) / (isnan(set->workers) ? 1 : set->workers) + serial) * (1 + .02 * scatter(run));
}

static int add_samples(struct making *k, int64_t channel, double level, double swing, int64_t begin_ns, int64_t end_ns,
                       struct wl_err *e)
{
    size_t n = 0, room = (size_t)((end_ns - begin_ns) / (SECOND_NS / HZ)) + 2;
    struct wl_arena *scratch = wl_arena_new(k->arena);
    struct wl_sample_row *rows = wl_new_array(scratch, struct wl_sample_row, room);
    for (int64_t t = begin_ns; t <= end_ns; t += SECOND_NS / HZ, n++) {
        double phase = (double)(t - begin_ns) / SECOND_NS;
        rows[n] = (struct wl_sample_row) { channel, t, level + swing * (sin(phase * 2) + .3 * scatter((int64_t)n)) };
        if (n == 17) rows[n].value = NAN;
    }
    int rc = wl_store_add_samples(k->store, rows, n, e);
    wl_arena_free(scratch);
    return rc;
}

static int add_devices(struct making *k, int64_t run, int64_t *devices, const struct wl_settings *set, int64_t begin_ns,
                       int64_t end_ns, struct wl_err *e)
{
    int rc = 0;
    bool gpu = !k->m->estimated;
    for (size_t i = 0; rc == 0 && i < k->m->devices; i++) {
        struct wl_device_row d = { .host = "node01",
                                   .uuid = wl_strf(k->arena, "dev-%zu", i),
                                   .number = (double)i,
                                   .sensor = gpu ? "nvml" : "cpu_model",
                                   .name = gpu ? "Made-up GPU" : "CPU" };
        rc = wl_store_add_device(k->store, &d, &devices[i], e);
        struct wl_channel_row power = { .run = run,
                                        .device = devices[i],
                                        .quantity = "power_w",
                                        .unit = "W",
                                        .scope = gpu ? "gpu" : "package",
                                        .variant = gpu ? "instant" : "mean",
                                        .estimated = k->m->estimated,
                                        .simulated = k->m->simulated };
        struct wl_channel_row busy = { .run = run,
                                       .device = devices[i],
                                       .unit = "%",
                                       .variant = "",
                                       .quantity = gpu ? "sm_util_pct" : "cpu_util_pct",
                                       .scope = gpu ? "gpu" : "node",
                                       .simulated = k->m->simulated };
        int64_t id;
        if (rc == 0) rc = wl_store_add_channel(k->store, &power, &id, e);
        if (rc == 0)
            rc = add_samples(k, id, gpu ? 300 : 20 + 15 * fmax(set->workers, 1), 8 + (double)i, begin_ns, end_ns, e);
        if (rc == 0) rc = wl_store_add_channel(k->store, &busy, &id, e);
        if (rc == 0)
            rc = add_samples(k, id, gpu ? 85 - 2 * (double)i : 45 * fmin(set->workers, 2), 5, begin_ns, end_ns, e);
    }
    return rc;
}

static struct wl_energy_row energy(const struct making *k, double epoch, int64_t device, double seconds, double power_w)
{
    return (struct wl_energy_row) { .epoch = epoch,
                                    .device = device,
                                    .scope = k->m->estimated ? "package" : "gpu",
                                    .method = "integral",
                                    .energy_j = seconds * power_w,
                                    .mean_power_w = power_w,
                                    .coverage = 1,
                                    .estimated = k->m->estimated,
                                    .simulated = k->m->simulated,
                                    .chosen = true };
}

/* Loss falls and accuracy rises with the epochs. */
enum { METRICS = 4 };

static size_t add_metrics(struct wl_metric_row *rows, int64_t epoch, int64_t run, bool regression)
{
    double done = (double)epoch, noise = .03 * scatter(run + 31 * epoch);
    rows[0] = (struct wl_metric_row) { done, "train_loss", 2.3 * exp(-.35 * done) + .1 + noise };
    rows[1] = (struct wl_metric_row) { done, "val_loss", 2.3 * exp(-.3 * done) + .3 + noise };
    rows[2] = (struct wl_metric_row) { done, regression ? "val_mae" : "val_top1", 1 - .9 * exp(-.3 * done) + noise };
    rows[3] = (struct wl_metric_row) { done, "val_top5", 1 };
    return regression ? 4 : 3;
}

static int finish_run(struct making *k, int64_t run, const struct wl_settings *set, size_t workload, struct wl_err *e)
{
    const struct made *m = k->m;
    size_t epochs = (size_t)m->epochs, n_energies = 0, n_metrics = 0;
    double seconds = epoch_seconds(set, workload, run), power_w = m->estimated ? 20 + 15 * fmax(set->workers, 1) : 300;
    int64_t begin_ns = k->clock_ns, at = begin_ns + SECOND_NS;
    int64_t *devices = wl_new_array(k->arena, int64_t, m->devices);
    struct wl_epoch_row *epoch = wl_new_array(k->arena, struct wl_epoch_row, epochs);
    struct wl_energy_row *energies = wl_new_array(k->arena, struct wl_energy_row, (epochs + 1) * m->devices);
    struct wl_metric_row *metrics = wl_new_array(k->arena, struct wl_metric_row, METRICS * epochs);
    for (size_t i = 0; i < epochs; i++) {
        double t = seconds * (i ? 1 + .01 * scatter((int64_t)i + run) : 1.3);
        int64_t end = at + (int64_t)(t * SECOND_NS);
        epoch[i] = (struct wl_epoch_row) { (int64_t)i + 1, at, end, t, 640, 40 };
        at = end;
        n_metrics += add_metrics(metrics + n_metrics, epoch[i].epoch, run, m->regression);
    }
    int64_t end_ns = at + SECOND_NS / 2;
    int rc = add_devices(k, run, devices, set, begin_ns, end_ns, e);
    for (size_t i = 0; i < m->devices; i++) {
        for (size_t j = 0; j < epochs; j++)
            energies[n_energies++] = energy(k, (double)j + 1, devices[i], epoch[j].time_s, power_w);
        energies[n_energies++] = energy(k, NAN, devices[i], (double)(end_ns - begin_ns) / SECOND_NS, power_w);
    }
    struct wl_derived derived = { .actual = wl_settings_none,
                                  .epochs = epoch,
                                  .n_epochs = epochs,
                                  .energies = energies,
                                  .n_energies = n_energies,
                                  .metrics = metrics,
                                  .n_metrics = n_metrics };
    derived.actual.hardware = m->estimated ? "Made-up CPU, 2 cores" : "8 x Made-up GPU";
    struct wl_run_end end = wl_run_end_none;
    end.exit_status = 0;
    end.at = (struct wl_anchor) { end_ns, end_ns + 1700000000LL * SECOND_NS };
    end.sampling_asked_s = .1;
    end.sampling_period_s = .1002;
    end.ticks = (double)((end_ns - begin_ns) / (SECOND_NS / HZ));
    end.ticks_skipped = 2;
    end.samples_lost = 0;
    end.own_cpu_s = .0004 * (double)(end_ns - begin_ns) / SECOND_NS;
    k->clock_ns = end_ns + SECOND_NS;
    return rc ? rc : wl_store_run_end(k->store, run, &end, &derived, e);
}

static int fail_run(struct making *k, int64_t run, struct wl_err *e)
{
    struct wl_run_end end = wl_run_end_none;
    end.status = WL_RUN_FAILED;
    end.exit_status = 3;
    end.error = "exit status 3: no more <memory> & \"patience\"";
    end.at = (struct wl_anchor) { k->clock_ns + SECOND_NS, k->clock_ns + 1700000001LL * SECOND_NS };
    return wl_store_run_end(k->store, run, &end, NULL, e);
}

static int make_run(struct making *k, int64_t trial, const struct wl_settings *set, size_t workload, int64_t repeat,
                    bool fails, struct wl_err *e)
{
    struct wl_run_plan plan = { .trial = trial, .repeat = repeat, .seed = repeat, .position = k->runs++ };
    struct wl_run_begin begin = { .command = "wattlaw-train made-up",
                                  .version = "0.1.0",
                                  .at = { k->clock_ns, k->clock_ns + 1700000000LL * SECOND_NS } };
    int64_t run;
    int rc = wl_store_plan_run(k->store, &plan, &run, e);
    if (rc == 0) rc = wl_store_run_begin(k->store, run, &begin, e);
    if (rc) return rc;
    return fails || k->m->only_failures ? fail_run(k, run, e) : finish_run(k, run, set, workload, e);
}

static int make_trial(struct making *k, size_t workload, double workers, double batch, double cap, struct wl_err *e)
{
    struct wl_settings set = wl_settings_none;
    int64_t trial;
    set.workload = k->m->workloads[workload];
    set.workers = workers;
    set.local_batch = batch;
    set.global_batch = batch * workers;
    set.power_cap_w = cap;
    if (k->m->no_workers) set.workers = set.global_batch = NAN;
    int rc = wl_store_add_trial(k->store, k->campaign, &set, NULL, &trial, e);
    for (int64_t r = 1; rc == 0 && !k->m->no_runs && r <= k->m->repeats; r++)
        rc = make_run(k, trial, &set, workload, r, false, e);
    return rc;
}

/* A run that fails and a configuration that cannot run. */
static int make_misfits(struct making *k, struct wl_err *e)
{
    struct wl_settings set = wl_settings_none;
    int64_t trial;
    set.workload = k->m->workloads[0];
    set.workers = k->m->workers[0];
    set.local_batch = 64;
    int rc = wl_store_add_trial(k->store, k->campaign, &set, NULL, &trial, e);
    if (rc == 0) rc = make_run(k, trial, &set, 0, 1, true, e);
    set.workers = 1000;
    if (rc == 0) rc = wl_store_add_trial(k->store, k->campaign, &set, "1000 workers are more than 2 cores", &trial, e);
    return rc;
}

int synthetic_store(const char *path, const struct made *m, struct wl_arena *a, struct wl_err *e)
{
    struct making k = { .m = m, .clock_ns = 5LL * SECOND_NS, .arena = a };
    static const double unset[] = { NAN };
    const double *batch = m->n_batches ? m->local_batches : unset, *cap = m->n_caps ? m->power_caps_w : unset;
    size_t n_batches = m->n_batches ? m->n_batches : 1, n_caps = m->n_caps ? m->n_caps : 1;
    int rc = wl_store_open(&k.store, path, WL_STORE_CREATE, a, e);
    if (rc == 0) rc = wl_store_begin(k.store, e); /* one transaction waits for the disk once */
    if (rc == 0)
        rc = wl_store_add_campaign(k.store, "made-up", "[campaign]\nname = made-up\n", "0.1.0", &k.campaign, e);
    for (size_t w = 0; w < m->n_workloads; w++) {
        for (size_t b = 0; b < n_batches; b++) {
            for (size_t c = 0; c < n_caps; c++) {
                for (size_t n = 0; rc == 0 && n < m->n_workers; n++)
                    rc = make_trial(&k, w, m->workers[n], batch[b], cap[c], e);
            }
        }
    }
    if (rc == 0 && !m->no_runs) rc = make_misfits(&k, e);
    if (rc == 0) rc = wl_store_commit(k.store, e);
    wl_store_close(k.store);
    return rc;
}
