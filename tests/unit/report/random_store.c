/* A store of random runs: random_store SEED PATH. Settings, epochs, energies, metrics, channels and ends of runs are
 * present or absent at random, and names are adversarial; the same seed gives the same store. */
#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct making {
    uint64_t seed, drawn;
    struct wl_store *store;
    int64_t now_ns;
    struct wl_arena *arena;
};

static const int64_t second_ns = 1000000000;

static size_t below(struct making *k, size_t n) { return (size_t)wl_random_below(k->seed, 1, k->drawn++, n); }
static bool chance(struct making *k, double p) { return wl_random_uniform(k->seed, 1, k->drawn++) < p; }
static double between(struct making *k, double lo, double hi)
{
    return lo + (hi - lo) * wl_random_uniform(k->seed, 1, k->drawn++);
}

/* One of the texts; some of them NULL. */
#define PICK(k, ...) \
    ((const char *const[]) { __VA_ARGS__ }[below(k, sizeof(const char *const[]) { __VA_ARGS__ } / sizeof(char *))])
#define PICK_REAL(k, ...) \
    ((const double[]) { __VA_ARGS__ }[below(k, sizeof(const double[]) { __VA_ARGS__ } / sizeof(double))])

static const char *workload(struct making *k)
{
    return PICK(k, "net", "net", "bert", "resnet50", "aaa", "zzz", NULL, "ideal", "no change", "a/b", "a b", "a-b",
                "</script><script>x</script>", "na\xc3\xafve",
                "a name that is too long for a legend, variant one, of the year 2024",
                "a name that is too long for a legend, variant two, of the year 2024");
}

static const char *metric(struct making *k)
{
    return PICK(k, "val_acc@1", "val_acc_1", "val-acc-1", "val_top1", "val_accuracy", "val_accuracy@", "val_loss",
                "loss", "train_loss", "lr", "input_s", "@", "#", "\xe2\x84\xa2", "<img src=x onerror=x>");
}

static struct wl_settings settings(struct making *k, double setting_p)
{
    struct wl_settings s = wl_settings_none;
    s.workload = workload(k);
    if (chance(k, .9)) s.workers = PICK_REAL(k, 1, 1, 2, 4, 8, 3);
    if (chance(k, setting_p)) s.local_batch = PICK_REAL(k, 8, 16, 32);
    if (chance(k, setting_p)) s.global_batch = chance(k, .5) ? s.local_batch * s.workers : PICK_REAL(k, 32, 64);
    if (chance(k, setting_p / 2)) s.accumulation = PICK_REAL(k, 1, 2);
    if (chance(k, setting_p / 2)) s.power_cap_w = PICK_REAL(k, 150, 250, 400);
    if (chance(k, setting_p / 4)) s.module_cap_w = PICK_REAL(k, 500, 700);
    if (chance(k, setting_p / 4)) s.clock_mhz = PICK_REAL(k, 1005, 1380);
    if (chance(k, setting_p / 4)) s.mem_clock_mhz = PICK_REAL(k, 877, 1593);
    if (chance(k, setting_p / 4)) s.threads = PICK_REAL(k, 1, 2);
    if (chance(k, setting_p / 4)) s.epochs = PICK_REAL(k, 2, 3);
    if (chance(k, setting_p / 2))
        s.extra = PICK(k, "{\"lr\":\"0.1\"}", "{\"lr\":\"0.2\"}", "{\"a b\":\"1\",\"a_b\":\"1\"}", "{\"a_b\":\"2\"}",
                       "{\"local batch\":\"8\"}", "{}");
    return s;
}

static int add_channel(struct making *k, int64_t run, int64_t device, int64_t span_ns, struct wl_err *e)
{
    const char *quantity = PICK(k, "power_w", "power_w", "sm_util_pct", "mem_util_pct", "cpu_util_pct", "energy_j");
    struct wl_channel_row c = { .run = run,
                                .device = device,
                                .quantity = quantity,
                                .unit = wl_str_eq(quantity, "power_w")    ? "W"
                                        : wl_str_eq(quantity, "energy_j") ? "J"
                                                                          : "%",
                                .scope = PICK(k, "gpu", "package", "node"),
                                .variant = PICK(k, "", "mean"),
                                .counter = wl_str_eq(quantity, "energy_j"),
                                .estimated = chance(k, .3),
                                .simulated = chance(k, .1),
                                .update_s = PICK_REAL(k, NAN, .1),
                                .window_s = NAN,
                                .delay_s = NAN,
                                .power_limit_w = NAN };
    struct wl_sample_row samples[20];
    size_t n = below(k, 21);
    int64_t id;
    int rc = wl_store_add_channel(k->store, &c, &id, e);
    for (size_t i = 0; i < n; i++)
        samples[i] = (struct wl_sample_row) { id, k->now_ns + (int64_t)i * span_ns / 20,
                                              chance(k, .1) ? NAN : between(k, -5, 100) };
    return rc || n == 0 ? rc : wl_store_add_samples(k->store, samples, n, e);
}

/* The rows written at the end of a run; room for all of them. */
struct facts {
    struct wl_epoch_row epochs[6];
    struct wl_energy_row energies[14];
    struct wl_metric_row metrics[24];
    struct wl_metric_def_row defs[2];
    struct wl_variation_row variations[3];
    struct wl_derived d;
};

static double time_of(struct making *k)
{
    return chance(k, .1) ? PICK_REAL(k, 0, -1, 1e-300, 1e12) : between(k, 1, 20);
}

static void make_energy(struct making *k, struct facts *f, double epoch, int64_t device)
{
    const double j = chance(k, .1) ? PICK_REAL(k, NAN, 0, -3) : between(k, 10, 1000);
    f->energies[f->d.n_energies++] = (struct wl_energy_row) { .epoch = epoch,
                                                              .device = device,
                                                              .scope = PICK(k, "gpu", "package"),
                                                              .method = PICK(k, "integral", "counter"),
                                                              .energy_j = j,
                                                              .mean_power_w = j / 7,
                                                              .coverage = PICK_REAL(k, 1, .5),
                                                              .energy_lo_j = PICK_REAL(k, NAN, j * .9),
                                                              .energy_hi_j = PICK_REAL(k, NAN, j * 1.1),
                                                              .idle_before_w = NAN,
                                                              .idle_after_w = NAN,
                                                              .idle_j = NAN,
                                                              .estimated = chance(k, .3),
                                                              .simulated = chance(k, .1),
                                                              .chosen = chance(k, .9) };
}

static void make_facts(struct making *k, struct facts *f, int64_t device)
{
    size_t epochs = below(k, 6);
    int64_t at = k->now_ns;
    f->d = (struct wl_derived) { .actual = wl_settings_none,
                                 .epochs = f->epochs,
                                 .energies = f->energies,
                                 .metrics = f->metrics,
                                 .metric_defs = f->defs,
                                 .variations = f->variations };
    if (chance(k, .5)) f->d.actual.hardware = PICK(k, "V100", "A100", "2 x A100, \"quoted\"");
    for (size_t i = 0; i < epochs; i++) {
        struct wl_epoch_row *v = &f->epochs[f->d.n_epochs++];
        *v = (struct wl_epoch_row) { (int64_t)(i + 1 + below(k, 2) * 7 * (i + 1 == epochs)),
                                     WL_NO_NS,
                                     WL_NO_NS,
                                     time_of(k),
                                     PICK_REAL(k, 640, NAN),
                                     PICK_REAL(k, 20, NAN) };
        if (chance(k, .7)) v->begin_ns = at, v->end_ns = at += 2 * second_ns;
        if (device && chance(k, .8)) make_energy(k, f, (double)v->epoch, device);
        for (size_t m = below(k, 4); m > 0; m--)
            f->metrics[f->d.n_metrics++] =
                (struct wl_metric_row) { (double)v->epoch, metric(k), chance(k, .1) ? NAN : between(k, 0, 3) };
    }
    if (device && chance(k, .9)) make_energy(k, f, NAN, device);
    if (chance(k, .3)) f->metrics[f->d.n_metrics++] = (struct wl_metric_row) { NAN, metric(k), between(k, 0, 1) };
    if (chance(k, .3))
        f->defs[f->d.n_metric_defs++] = (struct wl_metric_def_row) { .name = metric(k),
                                                                     .label = PICK(k, NULL, "a label <b>"),
                                                                     .unit = PICK(k, NULL, "meV", "1"),
                                                                     .larger = PICK_REAL(k, NAN, 0, 1),
                                                                     .baseline_of = PICK(k, NULL, NULL, "val_loss"),
                                                                     .main = chance(k, .5),
                                                                     .place = 1 };
    if (chance(k, .5))
        f->variations[f->d.n_variations++] =
            (struct wl_variation_row) { .quantity = PICK(k, "sm_util_pct", "mem_util_pct", "cpu_util_pct"),
                                        .devices = 1,
                                        .instants = 9,
                                        .mean = PICK_REAL(k, 50, NAN, 0),
                                        .mean_lo = NAN,
                                        .mean_hi = NAN,
                                        .cv_time = .1,
                                        .cv_time_lo = NAN,
                                        .cv_time_hi = NAN,
                                        .cv_devices = NAN,
                                        .cv_devices_lo = NAN,
                                        .cv_devices_hi = NAN,
                                        .cv_pooled = PICK_REAL(k, .1, NAN),
                                        .cv_pooled_lo = NAN,
                                        .cv_pooled_hi = NAN };
}

/* Metrics are unique by name and epoch in a store: later ones of a pair go. */
static void drop_repeated(struct facts *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->d.n_metrics; i++) {
        bool seen = false;
        for (size_t j = 0; j < kept; j++) {
            const double x = f->metrics[i].epoch, y = f->metrics[j].epoch;
            seen = seen || (wl_str_eq(f->metrics[i].name, f->metrics[j].name) && (x == y || (isnan(x) && isnan(y))));
        }
        if (!seen) f->metrics[kept++] = f->metrics[i];
    }
    f->d.n_metrics = kept;
}

static int end_run(struct making *k, int64_t run, struct wl_err *e)
{
    struct facts f = { 0 };
    int64_t device = 0, span_ns = (int64_t)between(k, 1, 60) * second_ns;
    int rc = 0;
    if (chance(k, .8)) {
        struct wl_device_row row = { .host = "node",
                                     .uuid = wl_strf(k->arena, "dev-%zu", below(k, 3)),
                                     .sensor = PICK(k, "nvml", "cpu_model"),
                                     .number = PICK_REAL(k, 0, NAN),
                                     .name = PICK(k, NULL, "V100", "") };
        rc = wl_store_add_device(k->store, &row, &device, e);
        for (size_t i = below(k, 4); rc == 0 && i > 0; i--) rc = add_channel(k, run, device, span_ns, e);
    }
    make_facts(k, &f, device);
    drop_repeated(&f);
    struct wl_run_end end = wl_run_end_none;
    end.status = chance(k, .8) ? WL_RUN_DONE : chance(k, .5) ? WL_RUN_FAILED : WL_RUN_INTERRUPTED;
    end.exit_status = PICK_REAL(k, 0, NAN, 3);
    end.error = PICK(k, NULL, NULL, "it <failed> & \"ended\"");
    end.flag = chance(k, .1) ? "flagged" : NULL;
    end.at = (struct wl_anchor) { k->now_ns + span_ns, k->now_ns + span_ns + 1700000000 * second_ns };
    end.sampling_asked_s = PICK_REAL(k, .1, NAN);
    end.sampling_period_s = PICK_REAL(k, .1, NAN);
    k->now_ns += span_ns + second_ns;
    return rc ? rc : wl_store_run_end(k->store, run, &end, chance(k, .95) ? &f.d : NULL, e);
}

static int make_run(struct making *k, int64_t trial, struct wl_err *e)
{
    int64_t run;
    struct wl_run_plan plan = { .trial = trial };
    struct wl_run_begin begin = { .host = "node",
                                  .boot_id = "boot",
                                  .command = PICK(k, "train", "<b>"),
                                  .version = "0.1.0",
                                  .at = { k->now_ns, k->now_ns + 1700000000 * second_ns } };
    int rc = wl_store_plan_run(k->store, &plan, &run, e);
    if (rc || chance(k, .05)) return rc;
    rc = wl_store_run_begin(k->store, run, &begin, e);
    return rc ? rc : end_run(k, run, e);
}

static int make_store(struct making *k, const char *path, struct wl_err *e)
{
    const double setting_p = between(k, 0, 1);
    const size_t trials = 1 + below(k, 9), campaigns = 1 + below(k, 2);
    int rc = wl_store_open(&k->store, path, WL_STORE_CREATE, k->arena, e);
    if (rc == 0) rc = wl_store_begin(k->store, e);
    for (size_t t = 0; rc == 0 && t < trials; t++) {
        const struct wl_settings set = settings(k, setting_p);
        int64_t campaign, trial;
        rc = wl_store_add_campaign(k->store, below(k, campaigns) ? "second" : "first", "[campaign]\n", "0.1.0",
                                   &campaign, e);
        if (rc == 0) rc = wl_store_add_trial(k->store, campaign, &set, chance(k, .1) ? "too large" : NULL, &trial, e);
        for (size_t r = 1 + below(k, 3); rc == 0 && r > 0; r--) rc = make_run(k, trial, e);
    }
    if (rc == 0) rc = wl_store_commit(k->store, e);
    wl_store_close(k->store);
    return rc;
}

int main(int argc, char **argv)
{
    struct making k = { .arena = wl_arena_new(NULL), .now_ns = 5000000000 };
    struct wl_err e = { 0 };
    int64_t seed;
    int rc =
        argc == 3 && wl_str_to_int(argv[1], &seed) == 0 ? 0 : wl_fail(&e, WL_EUSAGE, "usage: random_store SEED PATH");
    if (rc == 0) k.seed = (uint64_t)seed;
    if (rc == 0) rc = make_store(&k, argv[2], &e);
    if (rc) fprintf(stderr, "%s\n", e.msg);
    wl_arena_free(k.arena);
    return rc != 0;
}
