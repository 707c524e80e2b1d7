/* Writes a store like that of wattlaw sweep after the campaign of Frey et al. 2022: six networks, 2 to 424
 * workers, three power caps and three clocks, repeats. All of it is simulated (job.h) and marked so. */
#include "campaign/campaign.h"
#include "cmd/cmd.h"
#include "job.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double worker_counts[] = { 2, 4, 8, 16, 32, 64, 128, 256, 424 };
static const double caps_w[] = { 100, 200, 250 };
static const double clocks_mhz[] = { 135, 735, 1380 };
enum {
    EPOCHS = 3,
    READINGS = 32, /* of utilisation in a run, a sampling period apart */
    COUNTS = 14,   /* of an energy counter: closer than the three periods that count as a gap */
    WATCHED = 8,   /* boards of a run whose utilisation is kept */
    RUNS_A_COMMIT = 60,
};

struct options {
    int64_t repeats, seed, most;
};

static const struct wl_opt rows[] = {
    { .name = "repeats",
      .type = WL_INT,
      .offset = offsetof(struct options, repeats),
      .def = "7",
      .min = 1,
      .max = 1000,
      .help = "runs of each of the 486 configurations" },
    { .name = "max-workers",
      .type = WL_INT,
      .offset = offsetof(struct options, most),
      .def = "424",
      .min = 2,
      .max = 424,
      .help = "leave larger worker counts out" },
    { .name = "seed",
      .type = WL_INT,
      .offset = offsetof(struct options, seed),
      .def = "2022",
      .min = 0,
      .max = 1e15,
      .help = "of all noise" },
    WL_OPT_END,
};

struct simulation {
    struct wl_store *store;
    int64_t campaign, devices[424];
    struct wl_anchor now;
    size_t runs;
    const struct options *options;
};

/* ---- facts of a run ---- */

static int add_devices(struct simulation *s, struct wl_arena *a, struct wl_err *e)
{
    int rc = 0;
    for (int i = 0; i < s->options->most && rc == 0; i++) {
        struct wl_device_row device = { .host = wl_strf(a, "node%03d", i / 2),
                                        .uuid = wl_strf(a, "GPU-simulated-%03d", i),
                                        .sensor = "simulated",
                                        .number = i % 2,
                                        .name = "V100" };
        rc = wl_store_add_device(s->store, &device, &s->devices[i], e);
    }
    return rc;
}

static int64_t seconds(double s) { return (int64_t)(s * WL_NS_PER_S); }

static int add_marks(struct simulation *s, int64_t run, const struct setting *set, const struct run_noise *noise,
                     const int64_t *begin_ns, struct wl_arena *a, struct wl_err *e)
{
    struct wl_mark_row marks[2 + 3 * EPOCHS];
    double global_batch = set->network->local_batch * set->workers;
    size_t n = 0;
    marks[n++] =
        (struct wl_mark_row) { begin_ns[0], 0, "start",
                               wl_strf(a, "workload=%s workers=%g local_batch=%g global_batch=%g", set->network->name,
                                       set->workers, set->network->local_batch, global_batch) };
    for (int64_t i = 1; i <= EPOCHS; i++) {
        marks[n++] = (struct wl_mark_row) { begin_ns[i - 1], 0, "epoch-begin", wl_strf(a, "epoch=%lld", (long long)i) };
        marks[n++] =
            (struct wl_mark_row) { begin_ns[i], 0, "epoch-end",
                                   wl_strf(a, "epoch=%lld samples=%.0f updates=%.0f", (long long)i,
                                           set->network->samples, ceil(set->network->samples / global_batch)) };
        marks[n++] = (struct wl_mark_row) { begin_ns[i], 0, "metric",
                                            wl_strf(a, "name=val_loss value=%.6g epoch=%lld",
                                                    validation_loss(set, noise, i), (long long)i) };
    }
    marks[n++] = (struct wl_mark_row) { begin_ns[EPOCHS], 0, "stop", "status=ok" };
    return wl_store_add_marks(s->store, run, marks, n, e);
}

static int add_series(struct simulation *s, const struct wl_channel_row *channel, const int64_t *t_ns, const double *v,
                      size_t n, struct wl_err *e)
{
    struct wl_sample_row samples[READINGS];
    int64_t id;
    int rc = wl_store_add_channel(s->store, channel, &id, e);
    if (rc) return rc;
    for (size_t i = 0; i < n; i++) samples[i] = (struct wl_sample_row) { id, t_ns[i], v[i] };
    return wl_store_add_samples(s->store, samples, n, e);
}

/* The energy counter of every board, from shortly before the run to shortly after it, as read by a sampler that
 * starts before the job. */
static int add_energy(struct simulation *s, int64_t run, int64_t device, const struct job *job, double factor,
                      const int64_t *begin_ns, struct wl_err *e)
{
    const int64_t from_ns = begin_ns[0] - WL_NS_PER_S / 2, to_ns = begin_ns[EPOCHS] + WL_NS_PER_S / 2;
    struct wl_channel_row channel = { .run = run,
                                      .device = s->devices[device],
                                      .quantity = "energy_j",
                                      .unit = "J",
                                      .scope = "gpu",
                                      .variant = "",
                                      .counter = true,
                                      .simulated = true };
    int64_t t_ns[COUNTS];
    double energy_j[COUNTS];
    for (int64_t i = 0; i < COUNTS; i++) {
        t_ns[i] = from_ns + (to_ns - from_ns) * i / (COUNTS - 1);
        energy_j[i] = job->power_w * factor * (double)(t_ns[i] - from_ns) / WL_NS_PER_S;
    }
    return add_series(s, &channel, t_ns, energy_j, COUNTS, e);
}

static int add_utilisation(struct simulation *s, int64_t run, int64_t device, const struct job *job,
                           const struct network *net, const struct run_noise *noise, const int64_t *t_ns,
                           struct wl_err *e)
{
    struct wl_channel_row channel = { .run = run,
                                      .device = s->devices[device],
                                      .quantity = "sm_util_pct",
                                      .unit = "%",
                                      .scope = "gpu",
                                      .variant = "",
                                      .simulated = true };
    double v[READINGS];
    utilisation(job, net->sm, noise, device, v, READINGS);
    int rc = add_series(s, &channel, t_ns, v, READINGS, e);
    channel.quantity = "mem_util_pct";
    utilisation(job, net->memory, noise, device + 1000, v, READINGS);
    return rc ? rc : add_series(s, &channel, t_ns, v, READINGS, e);
}

/* Energy of all boards, utilisation of WATCHED of them, spread over the job. */
static int add_readings(struct simulation *s, int64_t run, const struct setting *set, const struct job *job,
                        const struct run_noise *noise, const int64_t *begin_ns, struct wl_err *e)
{
    int64_t t_ns[READINGS], n = (int64_t)set->workers, stride = n / WATCHED ? n / WATCHED : 1;
    int rc = 0;
    for (int64_t i = 0; i < READINGS; i++)
        t_ns[i] = begin_ns[0] + (begin_ns[EPOCHS] - begin_ns[0]) * (2 * i + 1) / (2 * READINGS);
    for (int64_t d = 0; d < n && rc == 0; d++) {
        rc = add_energy(s, run, d, job, device_factor(noise, d), begin_ns, e);
        if (rc == 0 && d % stride == 0 && d / stride < WATCHED)
            rc = add_utilisation(s, run, d, job, set->network, noise, t_ns, e);
    }
    return rc;
}

/* ---- a run from plan to end ---- */

static int finish(struct simulation *s, int64_t run, const int64_t *begin_ns, struct wl_arena *a, struct wl_err *e)
{
    const int64_t pause_ns = 60 * WL_NS_PER_S; /* between runs */
    double period_s = (double)(begin_ns[EPOCHS] - begin_ns[0]) / WL_NS_PER_S / READINGS;
    struct wl_run_end end = wl_run_end_none;
    struct wl_derived derived;
    struct wl_derive_opts opts = { begin_ns[0], begin_ns[EPOCHS], period_s, NAN };
    int rc = wl_derive(s->store, run, &opts, &derived, NULL, a, e);
    end.exit_status = 0;
    end.at = (struct wl_anchor) { begin_ns[EPOCHS], s->now.wall_ns + begin_ns[EPOCHS] - begin_ns[0] };
    end.sampling_asked_s = end.sampling_period_s = period_s;
    s->now = (struct wl_anchor) { end.at.mono_ns + pause_ns, end.at.wall_ns + pause_ns };
    return rc ? rc : wl_store_run_end(s->store, run, &end, &derived, e);
}

static int simulate_run(struct simulation *s, int64_t trial, const struct setting *set, int64_t repeat,
                        struct wl_arena *a, struct wl_err *e)
{
    struct job job = job_of(set);
    struct run_noise noise = run_noise_of(set, (uint64_t)s->options->seed, repeat);
    struct wl_run_plan plan = { .trial = trial, .repeat = repeat, .seed = repeat, .position = (int64_t)s->runs + 1 };
    struct wl_run_begin begin = { .command = "frey2022 simulate", .version = WL_VERSION, .at = s->now };
    int64_t run, begin_ns[EPOCHS + 1] = { s->now.mono_ns };
    for (int64_t i = 1; i <= EPOCHS; i++)
        begin_ns[i] = begin_ns[i - 1] + seconds(job.epoch_s * epoch_factor(&noise, i));
    int rc = wl_store_plan_run(s->store, &plan, &run, e);
    if (rc == 0) rc = wl_store_run_begin(s->store, run, &begin, e);
    if (rc == 0) rc = add_marks(s, run, set, &noise, begin_ns, a, e);
    if (rc == 0) rc = add_readings(s, run, set, &job, &noise, begin_ns, e);
    return rc ? rc : finish(s, run, begin_ns, a, e);
}

static int simulate_trial(struct simulation *s, const struct setting *set, int64_t repeat, struct wl_arena *a,
                          struct wl_err *e)
{
    struct wl_settings settings = wl_settings_none;
    int64_t trial;
    settings.workload = set->network->name;
    settings.hardware = "V100 (simulated)";
    settings.nodes = ceil(set->workers / 2);
    settings.workers = set->workers;
    settings.local_batch = set->network->local_batch;
    settings.global_batch = set->network->local_batch * set->workers;
    settings.epochs = EPOCHS;
    settings.power_cap_w = set->cap_w;
    settings.clock_mhz = set->clock_mhz;
    int rc = wl_store_add_trial(s->store, s->campaign, &settings, NULL, &trial, e);
    return rc ? rc : simulate_run(s, trial, set, repeat, a, e);
}

/* ---- the grid ---- */

/* Configuration i of the grid; false after the last one. */
static bool setting_at(size_t i, struct setting *set)
{
    size_t k = i % WL_COUNT(clocks_mhz);
    set->clock_mhz = clocks_mhz[k];
    i /= WL_COUNT(clocks_mhz);
    set->cap_w = caps_w[i % WL_COUNT(caps_w)];
    i /= WL_COUNT(caps_w);
    set->workers = worker_counts[i % WL_COUNT(worker_counts)];
    set->network = &networks[i / WL_COUNT(worker_counts)];
    return set->network->name != NULL;
}

/* Repeats outermost, so that a campaign that is stopped early has whole grids; commits from time to time. */
static int simulate_all(struct simulation *s, struct wl_arena *a, struct wl_err *e)
{
    struct wl_progress bar;
    struct setting set;
    size_t total = 0;
    int rc = wl_store_begin(s->store, e);
    wl_progress_start(&bar, "simulating");
    for (size_t i = 0; setting_at(i, &set); i++) total += set.workers <= (double)s->options->most;
    total *= (size_t)s->options->repeats;
    for (int64_t repeat = 1; repeat <= s->options->repeats && rc == 0; repeat++) {
        for (size_t i = 0; setting_at(i, &set) && rc == 0; i++) {
            struct wl_arena *scratch = wl_arena_new(a);
            if (set.workers <= (double)s->options->most) {
                wl_progress_update(&bar, (double)s->runs, (double)total, -1, NULL);
                rc = simulate_trial(s, &set, repeat, scratch, e);
                s->runs++;
            }
            wl_arena_free(scratch);
            if (rc == 0 && s->runs % RUNS_A_COMMIT == 0) {
                rc = wl_store_commit(s->store, e);
                if (rc == 0) rc = wl_store_begin(s->store, e);
            }
        }
    }
    wl_progress_clear(&bar);
    return rc ? rc : wl_store_commit(s->store, e);
}

static int run(void *given, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    enum { YEAR_2026 = 1767225600 };
    struct simulation *s = wl_new(a, struct simulation);
    *s = (struct simulation) { .options = given, .now = { WL_NS_PER_S, YEAR_2026 * WL_NS_PER_S } };
    if (rest->args.n != 1) return wl_fail(e, WL_EUSAGE, "one STORE is expected, not %zu", rest->args.n);
    if (wl_is_file(rest->args.v[0])) return wl_fail(e, WL_EINVAL, "%s exists: a new file is expected", rest->args.v[0]);
    int rc = wl_store_open(&s->store, rest->args.v[0], WL_STORE_CREATE, a, e);
    if (rc == 0)
        rc = wl_store_add_campaign(s->store, "frey2022 simulated", "# written by frey2022 simulate\n", WL_VERSION,
                                   &s->campaign, e);
    if (rc == 0) rc = add_devices(s, a, e);
    if (rc == 0) rc = simulate_all(s, a, e);
    if (rc) return rc;
    printf("%zu simulated runs in %s\n", s->runs, rest->args.v[0]);
    return WL_EXIT_OK;
}

static const struct wl_cmd simulate = {
    .name = "simulate",
    .usage = "[options] STORE",
    .help = "a store as a campaign of the study's size leaves it behind, simulated",
    .more = "Every number is simulated and marked so; examples/frey2022/job.h has the model.\n"
            "\n"
            "    frey2022 simulate frey2022.db && wattlaw report frey2022.db",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};

int main(int argc, char **argv)
{
    static const struct wl_cmd *const commands[] = { &simulate, NULL };
    static const struct wl_cmd_program program = {
        .name = "frey2022",
        .usage = "COMMAND [options]",
        .noun = "command",
        .about = "The campaign of Frey et al. 2022 (arXiv 2201.12423) without a machine.",
        .commands = commands,
    };
    return wl_cmd_program_main(&program, argc, argv);
}
