/* bench_shards EXPERIMENT SAMPLES CHANNELS: the shards that the jobs of a whole campaign leave, for bench/collect.py.
 *
 * Each run of the grid gets a store of its own with a closed run, as `wattlaw job` leaves one, which the code of jobs
 * then makes a shard of. Readings are 0.1 s apart, of CHANNELS / 5 devices; they are simulated, and marked so.
 */
#include "campaign/batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const int64_t PERIOD_NS = WL_NS_PER_S / 10;

struct maker {
    struct wl_experiment x;
    struct wl_grid grid;
    const char *store, *folder; /* of a job; of the campaign */
    int64_t samples, channels;
};

static const struct quantity {
    const char *name, *unit;
    bool counter;
    double level, noise;
} quantities[] = {
    { "power_w", "W", false, 250, 20 },         { "energy_j", "J", true, 0, 0 },
    { "sm_util_pct", "%", false, 93, 5 },       { "temperature_c", "C", false, 61, 1 },
    { "sm_clock_mhz", "MHz", false, 1380, 15 },
};

/* The same readings in each run: a level with a saw-tooth of noise, which compresses no better than a device's. */
static double reading(const struct quantity *q, int64_t i, int64_t channel)
{
    const double noise = (double)((i * 7919 + channel * 104729) % 1000) / 1000 - 0.5;
    return q->counter ? 25.0 * (double)i + noise : q->level + q->noise * noise;
}

static int add_channel(struct wl_store *s, const struct maker *m, int64_t run, int64_t k, int64_t begin_ns,
                       struct wl_sample_row *rows, struct wl_arena *a, struct wl_err *e)
{
    const struct quantity *q = &quantities[k % (int64_t)WL_COUNT(quantities)];
    const int64_t number = k / (int64_t)WL_COUNT(quantities);
    const struct wl_device_row device = { .host = "n1",
                                          .uuid = wl_strf(a, "GPU-simulated-%lld", (long long)number),
                                          .sensor = "simulated",
                                          .number = (double)number };
    struct wl_channel_row channel = { .run = run,
                                      .quantity = q->name,
                                      .unit = q->unit,
                                      .scope = "gpu",
                                      .variant = "",
                                      .counter = q->counter,
                                      .simulated = true };
    int64_t id;
    int rc = wl_store_add_device(s, &device, &channel.device, e);
    if (rc == 0) rc = wl_store_add_channel(s, &channel, &id, e);
    if (rc < 0) return rc;
    for (int64_t i = 0; i < m->samples; i++)
        rows[i] = (struct wl_sample_row) { id, begin_ns + i * PERIOD_NS, reading(q, i, k) };
    return wl_store_add_samples(s, rows, (size_t)m->samples, e);
}

/* Two epochs of the same length. */
static int add_marks(struct wl_store *s, int64_t run, int64_t begin_ns, int64_t end_ns, struct wl_err *e)
{
    const int64_t middle_ns = begin_ns / 2 + end_ns / 2;
    const struct wl_mark_row marks[] = {
        { begin_ns, 0, "start", "workload=toy workers=1" },    { begin_ns, 0, "epoch-begin", "epoch=1" },
        { middle_ns, 0, "epoch-end", "epoch=1 samples=1000" }, { middle_ns, 0, "epoch-begin", "epoch=2" },
        { end_ns, 0, "epoch-end", "epoch=2 samples=1000" },    { end_ns, 0, "stop", "status=ok" },
    };
    return wl_store_add_marks(s, run, marks, WL_COUNT(marks), e);
}

static int end_run(struct wl_store *s, int64_t run, const struct wl_anchor *from, const struct wl_anchor *to,
                   struct wl_arena *a, struct wl_err *e)
{
    const double period_s = (double)PERIOD_NS / WL_NS_PER_S;
    const struct wl_derive_opts opts = {
        .start_ns = from->mono_ns, .end_ns = to->mono_ns, .period_s = period_s, .idle_s = NAN
    };
    const struct wl_node_row node = { .host = "n1", .boot_id = "boot", .first = true, .start = *from, .stop = *to };
    struct wl_run_end end = wl_run_end_none;
    struct wl_derived derived;
    int rc = wl_derive(s, run, &opts, &derived, NULL, a, e);
    end.exit_status = 0;
    end.at = *to;
    end.sampling_asked_s = end.sampling_period_s = period_s;
    end.nodes = &node;
    end.n_nodes = 1;
    return rc ? rc : wl_store_run_end(s, run, &end, &derived, e);
}

static int write_run(struct wl_store *s, const struct maker *m, size_t i, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_planned_run *p = &m->grid.runs[i];
    const struct wl_settings set = wl_sweep_trial_settings(&m->x, &m->grid.trials[p->trial], a);
    struct wl_sample_row *rows = wl_new_array(a, struct wl_sample_row, (size_t)m->samples);
    struct wl_anchor from = wl_anchor_now(), to = from;
    struct wl_run_begin begin = {
        .host = "n1", .boot_id = "boot", .command = "simulated", .version = WL_VERSION, .at = from
    };
    struct wl_run_plan plan = { .repeat = p->repeat, .seed = p->repeat, .position = 1 };
    int64_t campaign, run, begin_ns = from.mono_ns;
    to.mono_ns += PERIOD_NS * (m->samples - 1);
    to.wall_ns += PERIOD_NS * (m->samples - 1);
    int rc = wl_store_add_campaign(s, m->x.campaign.name, m->x.expanded, WL_VERSION, &campaign, e);
    if (rc == 0) rc = wl_store_add_trial(s, campaign, &set, NULL, &plan.trial, e);
    if (rc == 0) rc = wl_store_plan_run(s, &plan, &run, e);
    if (rc == 0) rc = wl_store_run_begin(s, run, &begin, e);
    for (int64_t k = 0; k < m->channels && rc == 0; k++) rc = add_channel(s, m, run, k, begin_ns, rows, a, e);
    if (rc == 0) rc = add_marks(s, run, begin_ns, to.mono_ns, e);
    return rc ? rc : end_run(s, run, &from, &to, a, e);
}

static int make_shard(const struct maker *m, size_t i, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_planned_run *p = &m->grid.runs[i];
    const struct wl_settings set = wl_sweep_trial_settings(&m->x, &m->grid.trials[p->trial], a);
    struct wl_batch_shard_name name = { .trial = wl_batch_trial_hash(&set, a),
                                        .job = wl_strf(a, "%zu", i + 1),
                                        .repeat = p->repeat };
    struct wl_store *s;
    struct wl_run_row row;
    const char *path;
    int rc = wl_store_open(&s, m->store, WL_STORE_CREATE, a, e);
    if (rc == 0) rc = wl_store_begin(s, e);
    if (rc == 0) rc = write_run(s, m, i, a, e);
    if (rc == 0) rc = wl_store_commit(s, e);
    if (rc < 0) return rc;
    wl_store_close(s);
    rc = wl_batch_shard_seal(m->store, NULL, &row, a, e);
    name.status = row.status;
    if (rc == 0) rc = wl_batch_shard_copy(m->store, m->folder, &name, &path, a, e);
    unlink(m->store);
    unlink(wl_strf(a, "%s-lock", m->store));
    return rc;
}

static int make_all(struct maker *m, const char *experiment, struct wl_arena *a, struct wl_err *e)
{
    int rc = wl_experiment_read(experiment, NULL, &m->x, a, e);
    if (rc < 0) return rc;
    const struct wl_machine here = wl_machine_detect(&m->x, a);
    m->folder = wl_path_absolute(a, m->x.campaign.store);
    m->store = wl_strf(a, "%s/job.db", m->folder);
    rc = wl_grid_make(&m->x, &here, &m->grid, a, e);
    if (rc == 0) rc = wl_mkdirs(wl_path_join(a, m->folder, WL_BATCH_SHARDS_FOLDER), e);
    for (size_t i = 0; i < m->grid.n_runs && rc == 0; i++) {
        struct wl_arena *one = wl_arena_new(a);
        rc = make_shard(m, i, one, e);
        wl_arena_free(one);
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct maker m = { 0 };
    struct wl_err e;
    if (argc != 4 || wl_str_to_int(argv[2], &m.samples) < 0 || wl_str_to_int(argv[3], &m.channels) < 0 ||
        m.samples < 2) {
        fprintf(stderr, "usage: bench_shards EXPERIMENT SAMPLES CHANNELS\n");
        return 2;
    }
    struct wl_arena *a = wl_arena_new(NULL);
    const int rc = make_all(&m, argv[1], a, &e);
    if (rc < 0) fprintf(stderr, "bench_shards: %s\n", e.msg);
    if (rc == 0)
        printf("%zu shards of %lld readings of %lld channels\n", m.grid.n_runs, (long long)m.samples,
               (long long)m.channels);
    wl_arena_free(a);
    return rc < 0;
}
