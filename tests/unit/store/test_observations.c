/* The view `observations` as the analysis reads it: which rows, which energy, which metric. */
#include "helper.h"

/* A device's energy over an epoch (0: the whole run). */
static struct wl_energy_row energy(double epoch, int64_t device, const char *method, double energy_j, bool chosen)
{
    return (struct wl_energy_row) { .epoch = epoch > 0 ? epoch : NAN,
                                    .device = device,
                                    .scope = "gpu",
                                    .method = method,
                                    .energy_j = energy_j,
                                    .mean_power_w = NAN,
                                    .coverage = 1,
                                    .chosen = chosen };
}

static struct wl_epoch_row epoch(int64_t number, double time_s)
{
    return (struct wl_epoch_row) {
        .epoch = number, .begin_ns = 1, .end_ns = 2, .time_s = time_s, .samples = 64, .updates = 4
    };
}

static int64_t gpu(struct fixture *f, struct wl_store *s, const char *uuid)
{
    struct wl_device_row device = { .host = "node1", .uuid = uuid, .sensor = "nvml", .number = 0 };
    int64_t id;
    OK(wl_store_add_device(s, &device, &id, &f->e));
    return id;
}

static void read(struct fixture *f, struct wl_store *s, struct wl_observations *obs)
{
    OK(wl_store_observations(s, 0, obs, f->arena, &f->e));
}

static void each_epoch_is_a_row_with_the_chosen_energy(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    int64_t run = begin_run(f, s, add_trial(f, s, 2), 1), one = gpu(f, s, "GPU-1"), two = gpu(f, s, "GPU-2");
    const struct wl_epoch_row epochs[] = { epoch(1, 10), epoch(2, 8) };
    struct wl_energy_row energies[] = {
        energy(0, one, "counter", 500, true), energy(0, two, "counter", 600, true),
        energy(1, one, "counter", 100, true), energy(1, one, "integral", 9999, false),
        energy(1, two, "counter", 200, true), energy(2, one, "counter", 300, true),
        energy(2, two, "counter", NAN, true), /* a gap: the sum is unknown */
    };
    energies[4].estimated = true;
    energies[2].energy_lo_j = 90, energies[2].energy_hi_j = 115;
    energies[4].energy_lo_j = 180, energies[4].energy_hi_j = 235;
    const struct wl_metric_row metrics[] = { { 1, "train_loss", 2.5 },
                                             { 1, "val_top1", 0.25 },
                                             { 2, "train_loss", 2 } };
    struct wl_derived d = { .actual = wl_settings_none,
                            .epochs = epochs,
                            .n_epochs = 2,
                            .energies = energies,
                            .n_energies = WL_COUNT(energies),
                            .metrics = metrics,
                            .n_metrics = 3 };
    d.actual.hardware = "V100";
    d.actual.workers = 99; /* the trial's setting counts */
    OK(wl_store_run_end(s, run, &wl_run_end_none, &d, &f->e));

    struct wl_observations obs;
    read(f, s, &obs);
    assert_int_equal(obs.n, 2);
    assert_int_equal(obs.runs, 1);
    assert_string_equal(obs.hardware[0], "V100");
    assert_true(obs.workers[0] == 2 && obs.local_batch[0] == 16 && isnan(obs.global_batch[0]));
    assert_true(obs.epoch[0] == 1 && obs.time_s[0] == 10 && obs.samples[0] == 64 && obs.updates[0] == 4);
    assert_true(obs.energy_j[0] == 300 && isnan(obs.energy_j[1]));
    struct wl_obs_column lo, hi;
    OK(wl_obs_find(&obs, "energy_lo_j", &lo, &f->e));
    OK(wl_obs_find(&obs, "energy_hi_j", &hi, &f->e));
    assert_true(lo.real[0] == 270 && hi.real[0] == 350);
    assert_true(obs.estimated[0] == 1 && obs.estimated[1] == 0 && obs.simulated[0] == 0);
    assert_string_equal(obs.metric[0], "val_top1");
    assert_true(obs.metric_value[0] == 0.25);
    assert_string_equal(obs.metric[1], "train_loss");
    struct wl_strs names;
    OK(wl_store_metric_names(s, &names, f->arena, &f->e));
    assert_true(names.n == 2 && wl_str_eq(names.v[0], "train_loss") && wl_str_eq(names.v[1], "val_top1"));

    struct wl_run_rows rows;
    OK(wl_store_runs(s, &(struct wl_run_filter) { .run = run }, &rows, f->arena, &f->e));
    assert_true(rows.v[0].energy_j == 1100 && rows.v[0].epoch_time_s == 9);
    assert_string_equal(rows.v[0].metric, "val_top1"); /* its last value, though the last epoch has none */
    assert_true(rows.v[0].metric_value == 0.25);
}

static void a_run_without_epochs_is_one_row(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    int64_t run = begin_run(f, s, add_trial(f, s, 2), 1), one = gpu(f, s, "GPU-1");
    const struct wl_energy_row whole = energy(0, one, "integral", 50, true);
    const struct wl_metric_row metric = { NAN, "train_loss", 3 };
    const struct wl_derived d = {
        .actual = wl_settings_none, .energies = &whole, .n_energies = 1, .metrics = &metric, .n_metrics = 1
    };
    struct wl_run_end end = wl_run_end_none;
    end.at = (struct wl_anchor) { 1000 + 3 * WL_NS_PER_S, 0 };
    OK(wl_store_run_end(s, run, &end, &d, &f->e));
    struct wl_observations obs;
    read(f, s, &obs);
    assert_int_equal(obs.n, 1);
    assert_true(isnan(obs.epoch[0]) && obs.time_s[0] == 3 && obs.energy_j[0] == 50 && obs.metric_value[0] == 3);
    struct wl_strs names;
    OK(wl_store_metric_names(s, &names, f->arena, &f->e));
    assert_int_equal(names.n, 0); /* of no epoch */
}

static void only_finished_unflagged_runs_count(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    int64_t trial = add_trial(f, s, 2);
    struct wl_run_end end = wl_run_end_none;
    end_run(f, s, begin_run(f, s, trial, 1), 3, 1);
    end.status = WL_RUN_FAILED;
    OK(wl_store_run_end(s, begin_run(f, s, trial, 2), &end, NULL, &f->e));
    end.status = WL_RUN_DONE;
    end.flag = "the power cap was changed by someone else";
    OK(wl_store_run_end(s, begin_run(f, s, trial, 3), &end, NULL, &f->e));
    begin_run(f, s, trial, 4);
    struct wl_observations obs;
    read(f, s, &obs);
    assert_int_equal(obs.n, 3);
    assert_int_equal(obs.runs, 1);
}

static void extra_settings_become_columns(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    struct wl_settings set = wl_settings_none;
    int64_t campaign, other, trial;
    OK(wl_store_add_campaign(s, "a", "", "0.1.0", &campaign, &f->e));
    OK(wl_store_add_campaign(s, "b", "", "0.1.0", &other, &f->e));
    set.extra = "{\"lr\":0.1,\"size\":\"tiny\"}";
    set.threads = 2;
    OK(wl_store_add_trial(s, campaign, &set, NULL, &trial, &f->e));
    end_run(f, s, begin_run(f, s, trial, 1), 2, 1);
    set.extra = "{\"lr\":0.2}";
    OK(wl_store_add_trial(s, campaign, &set, NULL, &trial, &f->e));
    end_run(f, s, begin_run(f, s, trial, 1), 1, 1);
    set.extra = NULL;
    OK(wl_store_add_trial(s, other, &set, NULL, &trial, &f->e));
    end_run(f, s, begin_run(f, s, trial, 1), 1, 1);

    struct wl_observations obs;
    struct wl_obs_column lr, size, threads;
    read(f, s, &obs);
    assert_int_equal(obs.n, 4);
    OK(wl_obs_find(&obs, "lr", &lr, &f->e));
    OK(wl_obs_find(&obs, "size", &size, &f->e));
    OK(wl_obs_find(&obs, "threads", &threads, &f->e));
    assert_true(lr.real[0] == 0.1 && lr.real[1] == 0.1 && lr.real[2] == 0.2 && isnan(lr.real[3]));
    assert_string_equal(size.text[1], "tiny");
    assert_null(size.text[2]);
    assert_true(threads.real[3] == 2);
    OK(wl_store_observations(s, other, &obs, f->arena, &f->e));
    assert_int_equal(obs.n, 1);
    FAILS(WL_ENOENT, "no column \"lr\"", wl_obs_find(&obs, "lr", &lr, &f->e));
}

/* Samples and axes of the experiment are in the trial's object, precision may be in the run's alone: neither hides the
 * other. Of a name in both, the trial's value counts, as it does for columns. */
static void settings_of_trial_and_run_are_merged_by_name(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    struct wl_settings set = wl_settings_none;
    const char *const precision[] = { "f32", "bf16" };
    int64_t campaign, trial;
    OK(wl_store_add_campaign(s, "a", "", "0.1.0", &campaign, &f->e));
    set.extra = "{\"recompute\": \"no\", \"samples\": \"64\"}";
    OK(wl_store_add_trial(s, campaign, &set, NULL, &trial, &f->e));
    for (int i = 0; i < 2; i++) {
        struct wl_run_end end = wl_run_end_none;
        struct wl_derived d = { .actual = wl_settings_none };
        d.actual.extra = wl_strf(f->arena, "{\"precision\": \"%s\", \"recompute\": \"yes\"}", precision[i]);
        OK(wl_store_run_end(s, begin_run(f, s, trial, i + 1), &end, &d, &f->e));
    }
    struct wl_observations obs;
    struct wl_obs_column column;
    read(f, s, &obs);
    for (size_t i = 0; i < 2; i++) {
        OK(wl_obs_find(&obs, "precision", &column, &f->e));
        assert_string_equal(column.text[i], precision[i]);
        OK(wl_obs_find(&obs, "recompute", &column, &f->e));
        assert_string_equal(column.text[i], "no");
        OK(wl_obs_find(&obs, "samples", &column, &f->e));
        assert_true(column.real[i] == 64 || isnan(column.real[i]));
    }
    struct wl_run_rows runs;
    OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, f->arena, &f->e));
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(runs.v[i].set.extra,
                            wl_strf(f->arena, "{\"precision\": \"%s\", \"recompute\": \"no\", \"samples\": \"64\"}",
                                    precision[i]));
}

static bool same(double x, double y) { return x == y || (isnan(x) && isnan(y)); }

/* A reading of what a cap limits on a GPU, all over the run. */
static struct wl_stat_row reading(struct fixture *f, struct wl_store *s, int64_t run, const char *uuid,
                                  const struct wl_setting *cap, double value)
{
    struct wl_channel_row channel = { .run = run,
                                      .device = gpu(f, s, uuid),
                                      .quantity = cap->quantity,
                                      .unit = cap->unit,
                                      .scope = cap->of_module ? "module" : "gpu",
                                      .variant = "" };
    struct wl_stat_row stat = { .epoch = NAN, .readings = 9, .mean = value, .min = value, .max = value };
    OK(wl_store_add_channel(s, &channel, &stat.channel, &f->e));
    return stat;
}

/* A run in which one GPU reached the cap and another one did not. */
static int64_t capped_run(struct fixture *f, struct wl_store *s, const struct wl_setting *cap)
{
    struct wl_run_end end = wl_run_end_none;
    int64_t run = begin_run(f, s, add_trial(f, s, 2), 1 + cap->cap);
    const struct wl_stat_row stats[] = { reading(f, s, run, "GPU-1", cap, 990), reading(f, s, run, "GPU-2", cap, 700) };
    const struct wl_cap_row one = {
        .host = "node1", .device = "GPU-1", .kind = cap->name, .name = "GPU", .setter = "nvml", .requested = 1000
    };
    struct wl_cap_row caps[] = { one, one };
    caps[1].device = "GPU-2";
    end.caps = caps, end.n_caps = 2;
    OK(wl_store_run_end(s, run, &end, &(struct wl_derived) { .actual = wl_settings_none, .stats = stats, .n_stats = 2 },
                        &f->e));
    return run;
}

static double number_in(struct fixture *f, const struct wl_observations *obs, const char *column, size_t row)
{
    struct wl_obs_column c;
    OK(wl_obs_find(obs, column, &c, &f->e));
    return c.real[row];
}

/* The table of settings, the views and the readers agree on what each kind of cap limits. */
static void what_caps_did_is_read_by_kind(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    for (const struct wl_setting *cap = NULL; (cap = wl_setting_next_cap(cap));) capped_run(f, s, cap);
    struct wl_observations obs;
    struct wl_run_rows runs;
    read(f, s, &obs);
    OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, f->arena, &f->e));
    assert_int_equal(runs.n, WL_CAP_KINDS);
    for (size_t k = 0; k < runs.n; k++)
        for (const struct wl_setting *r = NULL; (r = wl_setting_next_cap(r));) {
            double acted = r->cap == k ? 50 : NAN, clock = r->cap == k && r->achieved ? 845 : NAN;
            const double is[] = { runs.v[k].acted_pct[r->cap], number_in(f, &obs, r->acted, k),
                                  runs.v[k].achieved[r->cap], r->achieved ? number_in(f, &obs, r->achieved, k) : NAN };
            if (!(same(is[0], acted) && same(is[1], acted) && same(is[2], clock) && same(is[3], clock)))
                fail_msg("run %zu, %s: acted %g and %g, not %g; achieved %g and %g, not %g", k + 1, r->name, is[0],
                         is[1], acted, is[2], is[3], clock);
        }
}

/* The format of the exported table. */
static void columns_keep_their_order(void **state)
{
    static const char *const names[] = {
        "accumulation",
        "threads",
        "repeat",
        "energy_lo_j",
        "energy_hi_j",
        "idle_j",
        "begin_temperature_c",
        "module_cap_w",
        "mem_clock_mhz",
        "achieved_clock_mhz",
        "achieved_mem_clock_mhz",
        "power_capped_pct",
        "power_cap_acted_pct",
        "module_cap_acted_pct",
        "clock_acted_pct",
        "mem_clock_acted_pct",
        "metric_unit",
        "metric_better",
    };
    struct fixture *f = *state;
    struct wl_observations obs;
    read(f, create_store(f), &obs);
    assert_int_equal(obs.n_extra, WL_COUNT(names));
    for (size_t i = 0; i < obs.n_extra; i++) assert_string_equal(obs.extra[i].name, names[i]);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(each_epoch_is_a_row_with_the_chosen_energy),
        TEST(a_run_without_epochs_is_one_row),
        TEST(only_finished_unflagged_runs_count),
        TEST(extra_settings_become_columns),
        TEST(settings_of_trial_and_run_are_merged_by_name),
        TEST(what_caps_did_is_read_by_kind),
        TEST(columns_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
