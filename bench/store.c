/* bench_store [FOLDER]: the cost of the store. bench_store make FILE RUNS SAMPLES: a store with samples, for
 * bench/scale.py.
 *
 *   insert   readings per second of CPU time into a new store: in the batches of a running job (64 devices, 4
 * quantities, 10 Hz, written once a second) and channel by channel, as a merge of stores does; against the same
 * readings as lines of a CSV file campaign a campaign as large as that of Frey et al. 2022 (3,400 runs of 20 epochs):
 * its size, and the time of the queries that status, show, fit and report make, against reading the same observations
 * from a CSV file
 *
 * Times of one run on one machine mean little; the ratios do.
 */
#include "store/store.h"
#include "exchange/exchange.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHANNELS = 256, SECONDS = 400, HZ = 10, RUNS = 3400, EPOCHS = 20, GPUS = 8 };

struct bench {
    struct wl_arena *arena;
    const char *dir;
    struct wl_err e;
};

static void must(struct bench *b, int rc)
{
    if (rc >= 0) return;
    fprintf(stderr, "bench_store: %s\n", b->e.msg);
    exit(1);
}

static double seconds_since(int64_t t_ns) { return (double)(wl_now_ns() - t_ns) / 1e9; }
static double cpu_since(int64_t t_ns) { return (double)(wl_clock_process_cpu_ns() - t_ns) / 1e9; }

static double file_mb(const char *path)
{
    struct stat st;
    return stat(path, &st) ? NAN : (double)st.st_size / 1e6;
}

/* A store with its side files. */
static void remove_store(struct bench *b, const char *path)
{
    unlink(path);
    unlink(wl_strf(b->arena, "%s-lock", path));
}

static struct wl_store *new_store(struct bench *b, const char *name)
{
    struct wl_store *s;
    char *path = wl_path_join(b->arena, b->dir, name);
    remove_store(b, path);
    must(b, wl_store_open(&s, path, WL_STORE_CREATE, b->arena, &b->e));
    return s;
}

static int64_t new_trial(struct bench *b, struct wl_store *s, double workers, double cap_w, const char *workload)
{
    int64_t campaign, trial;
    struct wl_settings set = wl_settings_none;
    set.workload = workload;
    set.hardware = "V100";
    set.workers = workers;
    set.local_batch = 64;
    set.global_batch = 64 * workers;
    set.power_cap_w = cap_w;
    must(b, wl_store_add_campaign(s, "bench", "", "bench", &campaign, &b->e));
    must(b, wl_store_add_trial(s, campaign, &set, NULL, &trial, &b->e));
    return trial;
}

static int64_t new_run(struct bench *b, struct wl_store *s, int64_t trial)
{
    int64_t run;
    const struct wl_run_plan plan = { .trial = trial };
    const struct wl_run_begin begin = { .at = wl_anchor_now() };
    must(b, wl_store_plan_run(s, &plan, &run, &b->e));
    must(b, wl_store_run_begin(s, run, &begin, &b->e));
    return run;
}

static int64_t new_device(struct bench *b, struct wl_store *s, int number)
{
    const struct wl_device_row row = {
        .host = "node1", .uuid = wl_strf(b->arena, "GPU-%d", number), .sensor = "nvml", .number = number
    };
    int64_t id;
    must(b, wl_store_add_device(s, &row, &id, &b->e));
    return id;
}

/* ---- insert ---- */

/* `seconds` of readings from a second on, by channel, then time. */
static void fill_batch(struct wl_sample_row *v, const int64_t *channels, int n, int64_t second, int seconds)
{
    for (int c = 0; c < n; c++)
        for (int i = 0; i < HZ * seconds; i++)
            *v++ =
                (struct wl_sample_row) { .channel = channels[c],
                                         .t_ns = 1000000000000000 + second * WL_NS_PER_S + i * (WL_NS_PER_S / HZ) + c,
                                         .value = 200 + sin((double)(second * HZ + i)) * 50 + c };
}

enum { BATCH = CHANNELS * HZ };
static struct wl_sample_row batch[BATCH];

/* CPU time of one second of all channels after the other. */
static double insert_as_measured(struct bench *b, struct wl_store *s, const int64_t *channels)
{
    double t_s = 0;
    for (int64_t second = 0; second < SECONDS; second++) {
        fill_batch(batch, channels, CHANNELS, second, 1);
        int64_t t0 = wl_clock_process_cpu_ns();
        must(b, wl_store_add_samples(s, batch, BATCH, &b->e));
        t_s += cpu_since(t0);
    }
    return t_s;
}

/* CPU time of all seconds of one channel after the other. */
static double insert_by_channel(struct bench *b, struct wl_store *s, const int64_t *channels)
{
    double t_s = 0;
    int seconds = BATCH / HZ;
    for (int c = 0; c < CHANNELS; c++)
        for (int64_t second = 0; second + seconds <= SECONDS; second += seconds) {
            fill_batch(batch, channels + c, 1, second, seconds);
            int64_t t0 = wl_clock_process_cpu_ns();
            must(b, wl_store_add_samples(s, batch, BATCH, &b->e));
            t_s += cpu_since(t0);
        }
    return t_s;
}

static double print_rows(struct bench *b, const char *path, const int64_t *channels)
{
    double t_s = 0;
    FILE *f = fopen(path, "w");
    must(b, f ? 0 : wl_fail_errno(&b->e, "%s", path));
    for (int64_t second = 0; second < SECONDS; second++) {
        fill_batch(batch, channels, CHANNELS, second, 1);
        int64_t t0 = wl_clock_process_cpu_ns();
        for (size_t i = 0; i < BATCH; i++)
            fprintf(f, "%lld,%lld,%.17g\n", (long long)batch[i].channel, (long long)batch[i].t_ns, batch[i].value);
        fflush(f);
        t_s += cpu_since(t0);
    }
    fclose(f);
    return t_s;
}

/* A run with CHANNELS channels in a new store. */
static struct wl_store *store_with_channels(struct bench *b, const char *name, int64_t *channels)
{
    static const char *const quantities[] = { "power_w", "sm_util_pct", "mem_util_pct", "sm_clock_mhz" };
    struct wl_store *s = new_store(b, name);
    int64_t run = new_run(b, s, new_trial(b, s, 64, NAN, "bench"));
    for (int c = 0; c < CHANNELS; c++) {
        const struct wl_channel_row row = { .run = run,
                                            .device = new_device(b, s, c / 4),
                                            .quantity = quantities[c % 4],
                                            .unit = "",
                                            .scope = "gpu",
                                            .variant = "" };
        must(b, wl_store_add_channel(s, &row, &channels[c], &b->e));
    }
    return s;
}

static void bench_insert(struct bench *b)
{
    int64_t channels[CHANNELS];
    double rows = (double)CHANNELS * HZ * SECONDS, by_channel_rows = rows / SECONDS * (SECONDS / CHANNELS * CHANNELS);
    struct wl_store *s = store_with_channels(b, "insert.db", channels);
    char *path = wl_strdup(b->arena, wl_store_path(s)), *csv = wl_path_join(b->arena, b->dir, "insert.csv");
    double measured_s = insert_as_measured(b, s, channels);
    wl_store_close(s);
    double size = file_mb(path) * 1e6;
    s = store_with_channels(b, "insert.db", channels);
    double by_channel_s = insert_by_channel(b, s, channels);
    wl_store_close(s);
    double csv_s = print_rows(b, csv, channels);
    printf("insert    %.2f M readings of %d channels as they are measured: %.0f k/s, %.1f bytes each\n", rows / 1e6,
           CHANNELS, rows / measured_s / 1e3, size / rows);
    printf("          channel by channel: %.0f k/s\n", by_channel_rows / by_channel_s / 1e3);
    printf("          as lines of a CSV file: %.0f k/s, %.1f bytes each; the store takes %.1f (by channel %.1f) times\n"
           "          as long and %.2f times the space\n",
           rows / csv_s / 1e3, file_mb(csv) * 1e6 / rows, measured_s / csv_s,
           by_channel_s / by_channel_rows / (csv_s / rows), size / (file_mb(csv) * 1e6));
    unlink(csv);
    remove_store(b, path);
}

/* ---- campaign ---- */

static void end_run(struct bench *b, struct wl_store *s, int64_t run, const int64_t *devices, double workers,
                    double cap_w)
{
    static struct wl_epoch_row epochs[EPOCHS];
    static struct wl_energy_row energies[(EPOCHS + 1) * GPUS * 2];
    static struct wl_metric_row metrics[EPOCHS * 2];
    double time_s = 100 / workers + 3;
    size_t n = 0;
    for (int i = 0; i < EPOCHS; i++) {
        epochs[i] = (struct wl_epoch_row) { .epoch = i + 1,
                                            .begin_ns = i,
                                            .end_ns = i + 1,
                                            .time_s = time_s + 0.01 * i,
                                            .samples = 1281167,
                                            .updates = 20018 / workers };
        epochs[i].updates = floor(epochs[i].updates);
        metrics[2 * i] = (struct wl_metric_row) { .epoch = i + 1, .name = "train_loss", .value = 7.0 / (i + 1) };
        metrics[2 * i + 1] = (struct wl_metric_row) { .epoch = i + 1, .name = "val_top1", .value = 1 - 1.0 / (i + 2) };
    }
    for (int i = 0; i <= EPOCHS; i++)
        for (int k = 0; k < 2 * GPUS; k++)
            energies[n++] = (struct wl_energy_row) { .epoch = i ? i : NAN,
                                                     .device = devices[k / 2],
                                                     .scope = "gpu",
                                                     .method = k % 2 ? "integral" : "counter",
                                                     .energy_j = cap_w * time_s,
                                                     .energy_lo_j = 0.99 * cap_w * time_s,
                                                     .energy_hi_j = 1.01 * cap_w * time_s,
                                                     .mean_power_w = cap_w,
                                                     .coverage = 1,
                                                     .chosen = k % 2 == 0,
                                                     .simulated = true };
    const struct wl_derived d = { .actual = wl_settings_none,
                                  .epochs = epochs,
                                  .n_epochs = EPOCHS,
                                  .energies = energies,
                                  .n_energies = n,
                                  .metrics = metrics,
                                  .n_metrics = WL_COUNT(metrics) };
    struct wl_run_end end = wl_run_end_none;
    end.at = wl_anchor_now();
    must(b, wl_store_run_end(s, run, &end, &d, &b->e));
}

static void fill_campaign(struct bench *b, struct wl_store *s)
{
    static const char *const workloads[] = { "resnet50", "vgg16", "inception3", "bert", "schnet", "dimenet" };
    int64_t devices[GPUS];
    for (int i = 0; i < GPUS; i++) devices[i] = new_device(b, s, i);
    for (int i = 0; i < RUNS; i++) {
        double workers = pow(2, i / 6 % 9 + 1), cap_w = 100 + 50 * (i / 54 % 3);
        must(b, wl_store_begin(s, &b->e));
        end_run(b, s, new_run(b, s, new_trial(b, s, workers, cap_w, workloads[i % 6])), devices, workers, cap_w);
        must(b, wl_store_commit(s, &b->e));
    }
}

static void bench_campaign(struct bench *b)
{
    struct wl_store *s = new_store(b, "campaign.db");
    struct wl_observations obs, again;
    struct wl_run_rows runs;
    int64_t t0 = wl_now_ns();
    fill_campaign(b, s);
    double fill_s = seconds_since(t0);
    char *path = wl_strdup(b->arena, wl_store_path(s)), *csv = wl_path_join(b->arena, b->dir, "campaign.csv");
    wl_store_close(s);
    printf("campaign  %d runs of %d epochs on %d GPUs: %.1f MB, filled at %.0f runs/s\n", RUNS, EPOCHS, GPUS,
           file_mb(path), RUNS / fill_s);

    t0 = wl_now_ns();
    must(b, wl_store_open(&s, path, WL_STORE_READ, b->arena, &b->e));
    double open_s = seconds_since(t0);
    t0 = wl_now_ns();
    must(b, wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, b->arena, &b->e));
    double runs_s = seconds_since(t0);
    t0 = wl_now_ns();
    must(b, wl_store_runs(s, &(struct wl_run_filter) { .run = 1700 }, &runs, b->arena, &b->e));
    double run_s = seconds_since(t0);
    t0 = wl_now_ns();
    must(b, wl_store_observations(s, 0, &obs, b->arena, &b->e));
    double obs_s = seconds_since(t0);
    printf("          open %.1f ms, all runs %.0f ms, one run %.1f ms, %zu observations %.0f ms\n", open_s * 1e3,
           runs_s * 1e3, run_s * 1e3, obs.n, obs_s * 1e3);

    FILE *f = fopen(csv, "w");
    must(b, f ? 0 : wl_fail_errno(&b->e, "%s", csv));
    wl_obs_write_csv(&obs, f);
    fclose(f);
    t0 = wl_now_ns();
    must(b, wl_obs_read_csv(csv, NULL, &again, b->arena, &b->e));
    double csv_s = seconds_since(t0);
    printf("          the observations from CSV %.0f ms: the store takes %.2f times as long\n", csv_s * 1e3,
           obs_s / csv_s);
    unlink(csv);
    remove_store(b, path);
}

/* ---- a store to keep ---- */

/* Samples of a run at 10 Hz in 20 channels: five quantities of four devices. */
static void add_samples(struct bench *b, struct wl_store *s, int64_t run, const int64_t *devices, int samples)
{
    enum { QUANTITIES = 5, SAMPLED = 4, PIECE = 100 };
    static const char *const quantities[QUANTITIES] = { "power_w", "sm_util_pct", "mem_util_pct", "sm_clock_mhz",
                                                        "temperature_c" };
    for (int c = 0; c < QUANTITIES * SAMPLED; c++) {
        const struct wl_channel_row row = { .run = run,
                                            .device = devices[c / QUANTITIES],
                                            .quantity = quantities[c % QUANTITIES],
                                            .unit = "",
                                            .scope = "gpu",
                                            .variant = "" };
        int64_t channel;
        must(b, wl_store_add_channel(s, &row, &channel, &b->e));
        for (int from = 0; from < samples; from += PIECE) {
            const int n = samples - from < PIECE ? samples - from : PIECE;
            for (int i = 0; i < n; i++)
                batch[i] = (struct wl_sample_row) { .channel = channel,
                                                    .t_ns = WL_NS_PER_S + (from + i) * (WL_NS_PER_S / 10),
                                                    .value = 200 + 50 * sin((double)(from + i)) + c };
            must(b, wl_store_add_samples(s, batch, (size_t)n, &b->e));
        }
    }
}

static void make_store(struct bench *b, const char *path, int runs, int samples)
{
    struct wl_store *s;
    int64_t devices[GPUS];
    remove_store(b, path);
    must(b, wl_store_open(&s, path, WL_STORE_CREATE, b->arena, &b->e));
    for (int i = 0; i < GPUS; i++) devices[i] = new_device(b, s, i);
    for (int i = 0; i < runs; i++) {
        const double workers = pow(2, i % 8), cap_w = 100 + 50 * (i / 8 % 3);
        must(b, wl_store_begin(s, &b->e));
        const int64_t run = new_run(b, s, new_trial(b, s, workers, cap_w, "resnet50"));
        add_samples(b, s, run, devices, samples);
        end_run(b, s, run, devices, workers, cap_w);
        must(b, wl_store_commit(s, &b->e));
    }
    printf("%s: %d runs of %d samples in 20 channels, %.0f MB\n", path, runs, samples, file_mb(path));
    wl_store_close(s);
}

int main(int argc, char **argv)
{
    struct bench b = { .arena = wl_arena_new(NULL) };
    if (argc == 5 && strcmp(argv[1], "make") == 0) {
        make_store(&b, argv[2], atoi(argv[3]), atoi(argv[4]));
        wl_arena_free(b.arena);
        return 0;
    }
    char *dir = wl_strdup(b.arena, "/tmp/wattlaw-bench-XXXXXX");
    b.dir = argc > 1 ? argv[1] : mkdtemp(dir);
    must(&b, b.dir ? wl_mkdirs(b.dir, &b.e) : wl_fail_errno(&b.e, "/tmp: no temporary folder"));
    bench_insert(&b);
    bench_campaign(&b);
    if (argc < 2) rmdir(b.dir);
    wl_arena_free(b.arena);
    return 0;
}
