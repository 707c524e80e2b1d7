/* What is written can be read: settings, plans, runs, readings, derived rows, observations. */
#include "helper.h"

static void a_new_store_can_be_opened_for_reading(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s;
    f->store = wl_strf(f->arena, "%s/a/b c?/%s", f->dir, WL_STORE_FILE);
    wl_store_close(create_store(f));
    OK(wl_store_open(&s, f->store, WL_STORE_READ, f->arena, &f->e));
    OK(wl_store_check(s, &f->e));
    wl_store_close(s);
    wl_store_close(s);
    char *found;
    OK(wl_store_find(wl_path_dir(f->arena, f->store), &found, f->arena, &f->e));
    assert_string_equal(found, f->store);
    FAILS(WL_ENOENT, "no store in this folder", wl_store_find(f->dir, &found, f->arena, &f->e));
}

static void settings_identify_a_trial(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    struct wl_settings set = wl_settings_none;
    int64_t campaign, one, two, three;
    set.workload = "resnet50";
    set.workers = 2;
    set.power_cap_w = 187.5;
    set.extra = "{\"size\":\"tiny\"}";
    assert_string_equal(wl_settings_key(&set, f->arena),
                        "workload=resnet50 workers=2 power_cap_w=187.5 extra={\"size\":\"tiny\"}");
    OK(wl_store_add_campaign(s, "c", "text", "0.1.0", &campaign, &f->e));
    OK(wl_store_add_trial(s, campaign, &set, NULL, &one, &f->e));
    OK(wl_store_add_trial(s, campaign, &set, "no permission to cap", &two, &f->e));
    assert_int_equal(one, two);
    set.workers = 4;
    OK(wl_store_add_trial(s, campaign, &set, NULL, &three, &f->e));
    assert_int_not_equal(one, three);

    struct wl_trial_rows rows;
    OK(wl_store_trials(s, campaign, &rows, f->arena, &f->e));
    assert_int_equal(rows.n, 2);
    assert_string_equal(rows.v[0].skipped, "no permission to cap");
    assert_null(rows.v[1].skipped);
    assert_string_equal(rows.v[1].set.workload, "resnet50");
    assert_null(rows.v[1].set.hardware);
    assert_true(rows.v[1].set.workers == 4 && rows.v[1].set.power_cap_w == 187.5);
    assert_true(isnan(rows.v[1].set.epochs));

    set.workers = 2.5;
    FAILS(WL_EINVAL, "trial.workers", wl_store_add_trial(s, campaign, &set, NULL, &three, &f->e));
}

static void the_newest_experiment_text_counts(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    int64_t first, again;
    OK(wl_store_add_campaign(s, "c", "repeats = 3", "0.1.0", &first, &f->e));
    OK(wl_store_add_campaign(s, "c", "repeats = 5", "0.2.0", &again, &f->e));
    assert_int_equal(first, again);
    OK(wl_store_add_campaign(s, "d", "repeats = 1", "0.2.0", &again, &f->e));
    struct wl_campaign_rows rows;
    OK(wl_store_campaigns(s, &rows, f->arena, &f->e));
    assert_int_equal(rows.n, 2);
    assert_string_equal(rows.v[0].experiment, "repeats = 5");
    assert_string_equal(rows.v[0].version, "0.2.0");
}

static void end_with_status(struct fixture *f, struct wl_store *s, int64_t run, enum wl_run_status status)
{
    struct wl_run_end end = wl_run_end_none;
    end.status = status;
    OK(wl_store_run_end(s, run, &end, NULL, &f->e));
}

static void only_missing_repeats_are_planned(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    struct wl_run_plan plan = { .trial = add_trial(f, s, 2), .repeat = 1, .position = 1 };
    struct wl_run_begin begin = { .at = { 1, 1 } };
    int64_t planned, run;
    OK(wl_store_plan_run(s, &plan, &planned, &f->e));
    OK(wl_store_plan_run(s, &plan, &run, &f->e));
    assert_int_equal(run, planned);

    /* failed: only when asked for */
    OK(wl_store_run_begin(s, run, &begin, &f->e));
    FAILS(WL_EINVAL, "is not planned", wl_store_run_begin(s, run, &begin, &f->e));
    end_with_status(f, s, run, WL_RUN_FAILED);
    OK(wl_store_plan_run(s, &plan, &run, &f->e));
    assert_int_equal(run, planned);
    plan.retry_failed = true;
    OK(wl_store_plan_run(s, &plan, &run, &f->e));
    assert_int_not_equal(run, planned);

    /* interrupted: again; done: never */
    int64_t second = run;
    OK(wl_store_run_begin(s, run, &begin, &f->e));
    end_with_status(f, s, run, WL_RUN_INTERRUPTED);
    OK(wl_store_plan_run(s, &plan, &run, &f->e));
    assert_int_not_equal(run, second);
    OK(wl_store_run_begin(s, run, &begin, &f->e));
    end_with_status(f, s, run, WL_RUN_DONE);
    int64_t done = run;
    OK(wl_store_plan_run(s, &plan, &run, &f->e));
    assert_int_equal(run, done);
    FAILS(WL_EINVAL, "is not running", wl_store_run_end(s, run, &wl_run_end_none, NULL, &f->e));

    /* the next free number */
    plan.repeat = 0;
    OK(wl_store_plan_run(s, &plan, &run, &f->e));
    struct wl_run_rows rows;
    OK(wl_store_runs(s, &(struct wl_run_filter) { .trial = plan.trial }, &rows, f->arena, &f->e));
    assert_int_equal(rows.n, 4);
    OK(wl_store_runs(s, &(struct wl_run_filter) { .statuses = 1u << WL_RUN_PLANNED }, &rows, f->arena, &f->e));
    assert_int_equal(rows.n, 1);
    assert_int_equal(rows.v[0].repeat, 2);
    OK(wl_store_drop_planned(s, rows.v[0].campaign, &f->e));
    OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &rows, f->arena, &f->e));
    assert_int_equal(rows.n, 3);
}

static void runs_are_listed_by_position(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    const int64_t trial = add_trial(f, s, 2), position[] = { 3, 1, 2 }, order[] = { 2, 3, 1 };
    struct wl_run_rows rows;
    int64_t run;
    for (int i = 0; i < 3; i++)
        OK(wl_store_plan_run(s, &(struct wl_run_plan) { .trial = trial, .repeat = i + 1, .position = position[i] },
                             &run, &f->e));
    OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &rows, f->arena, &f->e));
    assert_int_equal(rows.n, 3);
    for (int i = 0; i < 3; i++) assert_true(rows.v[i].repeat == order[i] && rows.v[i].position == i + 1);
}

/* Missing times are WL_NO_NS and NAN, not 0. */
static void a_planned_run_has_no_times(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    struct wl_run_plan plan = { .trial = add_trial(f, s, 2), .repeat = 1, .position = 1 };
    struct wl_run_rows rows;
    int64_t run;
    OK(wl_store_plan_run(s, &plan, &run, &f->e));
    OK(wl_store_runs(s, &(struct wl_run_filter) { .run = run }, &rows, f->arena, &f->e));
    const struct wl_run_row *r = rows.v;
    assert_true(r->start.mono_ns == WL_NO_NS && r->start.wall_ns == WL_NO_NS);
    assert_true(r->stop.mono_ns == WL_NO_NS && r->stop.wall_ns == WL_NO_NS && isnan(r->time_s));
}

static void a_finished_run_has_its_totals(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    int64_t run = begin_run(f, s, add_trial(f, s, 2), 3);
    end_run(f, s, run, 2, 1.5);
    struct wl_run_rows rows;
    OK(wl_store_runs(s, &(struct wl_run_filter) { .run = run }, &rows, f->arena, &f->e));
    assert_int_equal(rows.n, 1);
    const struct wl_run_row *r = rows.v;
    assert_int_equal(r->status, WL_RUN_DONE);
    assert_int_equal(r->repeat, 3);
    assert_string_equal(r->command, "train");
    assert_int_equal(r->start.mono_ns, 1000);
    assert_int_equal(r->stop.wall_ns, 2000 + 5 * WL_NS_PER_S);
    assert_true(r->exit_status == 0 && isnan(r->signal) && isnan(r->own_cpu_s));
    assert_true(r->time_s == 5 && r->epochs_seen == 2 && r->epoch_time_s == 1.5 && r->energy_j == 100);
    assert_false(r->estimated);
    assert_null(r->flag);
}

static void readings_are_read_in_order_of_time(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    int64_t run = begin_run(f, s, add_trial(f, s, 2), 1);
    int64_t gpu = add_channel(f, s, run, "GPU-0"), other = add_channel(f, s, run, "GPU-1");
    assert_int_equal(gpu, add_channel(f, s, run, "GPU-0"));
    const struct wl_sample_row v[] = {
        { gpu, 30, 250.5 }, { other, 10, 1 }, { gpu, 10, 100 }, { gpu, 20, NAN }, { gpu, 10, 999 },
    };
    OK(wl_store_add_samples(s, v, WL_COUNT(v), &f->e));
    struct wl_readings r;
    OK(wl_store_readings(s, gpu, INT64_MIN, INT64_MAX, &r, f->arena, &f->e));
    assert_int_equal(r.n, 3);
    assert_true(r.t_ns[0] == 10 && r.value[0] == 100);
    assert_true(r.t_ns[1] == 20 && isnan(r.value[1]));
    assert_true(r.t_ns[2] == 30 && r.value[2] == 250.5);
    OK(wl_store_readings(s, gpu, 11, 30, &r, f->arena, &f->e));
    assert_int_equal(r.n, 2);
    OK(wl_store_readings(s, 999, INT64_MIN, INT64_MAX, &r, f->arena, &f->e));
    assert_int_equal(r.n, 0);
    const struct wl_sample_row nowhere = { 999, 1, 1 };
    FAILS(WL_EINVAL, "FOREIGN KEY", wl_store_add_samples(s, &nowhere, 1, &f->e));

    struct wl_device_rows devices;
    struct wl_channel_rows channels;
    OK(wl_store_devices(s, run, &devices, f->arena, &f->e));
    OK(wl_store_channels(s, run, &channels, f->arena, &f->e));
    assert_int_equal(devices.n, 2);
    assert_string_equal(devices.v[1].uuid, "GPU-1");
    assert_true(isnan(devices.v[1].number));
    assert_int_equal(channels.n, 2);
    assert_string_equal(channels.v[0].unit, "W");
}

static void marks_and_log_lines_are_read_as_written(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    int64_t run = begin_run(f, s, add_trial(f, s, 2), 1);
    const struct wl_mark_row v[] = { { 20, 0, "epoch-begin", "epoch=1" }, { 10, 0, "start", "" } };
    OK(wl_store_add_marks(s, run, v, WL_COUNT(v), &f->e));
    OK(wl_store_add_log(s, run, "warn", "power", "no counter", &f->e));
    OK(wl_store_add_log(s, 0, "info", "campaign", "starts", &f->e));
    struct wl_mark_rows marks;
    struct wl_log_rows log;
    OK(wl_store_read_marks(s, run, &marks, f->arena, &f->e));
    assert_int_equal(marks.n, 2);
    assert_string_equal(marks.v[0].word, "start");
    assert_string_equal(marks.v[1].fields, "epoch=1");
    OK(wl_store_read_log(s, run, &log, f->arena, &f->e));
    assert_int_equal(log.n, 1);
    assert_string_equal(log.v[0].message, "no counter");
    OK(wl_store_read_log(s, 0, &log, f->arena, &f->e));
    assert_int_equal(log.n, 1);
}

static void derived_rows_are_replaced(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    int64_t run = begin_run(f, s, add_trial(f, s, 2), 1);
    int64_t channel = add_channel(f, s, run, "GPU-0");
    end_run(f, s, run, 3, 1);
    const struct wl_epoch_row epoch = {
        .epoch = 1, .begin_ns = 5, .end_ns = 6, .time_s = 9, .samples = NAN, .updates = 4
    };
    const struct wl_metric_row metrics[] = { { 1, "train_loss", 2.5 }, { 1, "val_top1", 0.5 }, { NAN, "lr", 0.1 } };
    const struct wl_stat_row stat = { channel, NAN, 10, 80, 2, 70, 90 };
    const struct wl_derived d = { .actual = wl_settings_none,
                                  .epochs = &epoch,
                                  .n_epochs = 1,
                                  .metrics = metrics,
                                  .n_metrics = 3,
                                  .stats = &stat,
                                  .n_stats = 1 };
    OK(wl_store_derive(s, run, &d, &f->e));
    OK(wl_store_derive(s, run, &d, &f->e));
    struct wl_epoch_rows epochs;
    struct wl_energy_rows energies;
    struct wl_metric_rows read;
    struct wl_stat_rows stats;
    OK(wl_store_epochs(s, run, &epochs, f->arena, &f->e));
    OK(wl_store_energies(s, run, &energies, f->arena, &f->e));
    OK(wl_store_metrics(s, run, &read, f->arena, &f->e));
    OK(wl_store_stats(s, run, &stats, f->arena, &f->e));
    assert_int_equal(epochs.n, 1);
    assert_true(epochs.v[0].begin_ns == 5 && isnan(epochs.v[0].samples) && epochs.v[0].updates == 4);
    assert_int_equal(energies.n, 0);
    assert_int_equal(read.n, 3);
    assert_true(isnan(read.v[0].epoch) && read.v[2].value == 0.5);
    assert_int_equal(stats.n, 1);
    assert_true(isnan(stats.v[0].epoch) && stats.v[0].mean == 80);
    struct wl_run_rows rows;
    OK(wl_store_runs(s, &(struct wl_run_filter) { .run = run }, &rows, f->arena, &f->e));
    assert_true(isnan(rows.v[0].energy_j));
    assert_string_equal(rows.v[0].metric, "val_top1");
}

static void phases_and_variations_belong_to_their_run(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    int64_t first = begin_run(f, s, add_trial(f, s, 2), 1), second = begin_run(f, s, add_trial(f, s, 4), 1);
    const struct wl_device_row gpu = { .host = "node1", .uuid = "GPU-0", .sensor = "nvml", .number = NAN };
    struct wl_phase_row phase = {
        .phase = "backward", .scope = "gpu", .method = "integral", .spans = 3, .energy_j = 20
    };
    OK(wl_store_add_device(s, &gpu, &phase.device, &f->e));
    const struct wl_variation_row v = { .quantity = "sm_util_pct", .devices = 2, .mean = 88, .cv_pooled_hi = 7 };
    const struct wl_derived d = {
        .actual = wl_settings_none, .phases = &phase, .n_phases = 1, .variations = &v, .n_variations = 1
    };
    OK(wl_store_derive(s, first, &d, &f->e));
    OK(wl_store_derive(s, second, &d, &f->e));
    struct wl_phase_rows phases;
    struct wl_variation_rows variations;
    OK(wl_store_phases(s, second, &phases, f->arena, &f->e));
    assert_true(phases.n == 1 && phases.v[0].spans == 3 && phases.v[0].energy_j == 20);
    assert_string_equal(phases.v[0].phase, "backward");
    OK(wl_store_variations(s, 0, &variations, f->arena, &f->e));
    assert_true(variations.n == 2 && variations.v[0].run == first && variations.v[1].run == second);
    assert_true(variations.v[1].devices == 2 && variations.v[1].mean == 88 && variations.v[1].cv_pooled_hi == 7);
}

/* A run with one epoch and three metrics, two of them defined; `unit` is that of val_mae. */
static int64_t run_with_metric_definitions(struct fixture *f, struct wl_store *s, double workers, const char *unit)
{
    int64_t run = begin_run(f, s, add_trial(f, s, workers), 1);
    const struct wl_epoch_row epoch = { .epoch = 1, .begin_ns = 5, .end_ns = 6, .time_s = 9 };
    const struct wl_metric_row metrics[] = { { 1, "a_score", 2 }, { 1, "val_loss", 3 }, { 1, "val_mae", 4 } };
    const struct wl_metric_def_row defs[] = {
        { .name = "val_mae", .label = "error", .unit = unit, .larger = 0, .main = true, .place = 1 },
        { .name = "a_score", .larger = NAN, .baseline_of = "val_mae", .place = 2 },
    };
    const struct wl_derived d = { .actual = wl_settings_none,
                                  .epochs = &epoch,
                                  .n_epochs = 1,
                                  .metrics = metrics,
                                  .n_metrics = 3,
                                  .metric_defs = defs,
                                  .n_metric_defs = 2 };
    end_run(f, s, run, 3, 1);
    OK(wl_store_derive(s, run, &d, &f->e));
    OK(wl_store_derive(s, run, &d, &f->e));
    return run;
}

static const char *column_text(struct fixture *f, const struct wl_observations *obs, const char *name, size_t row)
{
    struct wl_obs_column column;
    OK(wl_obs_find(obs, name, &column, &f->e));
    return wl_obs_text(&column, row, f->arena);
}

static void metric_definitions_are_read_with_their_units(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    int64_t first = run_with_metric_definitions(f, s, 2, "eV");
    int64_t second = run_with_metric_definitions(f, s, 4, "meV");
    struct wl_metric_def_rows defs;
    OK(wl_store_metric_defs(s, 0, 0, &defs, f->arena, &f->e));
    assert_int_equal(defs.n, 2);
    assert_string_equal(defs.v[0].name, "val_mae");
    assert_string_equal(defs.v[0].unit, "meV"); /* the newest run's */
    assert_true(defs.v[0].run == second && defs.v[0].larger == 0 && defs.v[0].main && isnan(defs.v[1].larger));
    assert_string_equal(defs.v[1].baseline_of, "val_mae");
    assert_null(defs.v[1].label);
    OK(wl_store_metric_defs(s, 0, first, &defs, f->arena, &f->e));
    assert_true(defs.n == 2 && defs.v[0].run == first);
    assert_string_equal(defs.v[0].unit, "eV");

    struct wl_run_rows rows;
    struct wl_observations obs;
    OK(wl_store_runs(s, &(struct wl_run_filter) { .run = first }, &rows, f->arena, &f->e));
    assert_string_equal(rows.v[0].metric, "val_mae"); /* a metric defined as main precedes the usual names */
    assert_string_equal(rows.v[0].metric_unit, "eV");
    OK(wl_store_observations(s, 0, &obs, f->arena, &f->e));
    assert_true(obs.n == 2 && obs.metric_value[0] == 4);
    assert_string_equal(column_text(f, &obs, "metric_unit", 1), "meV");
    assert_string_equal(column_text(f, &obs, "metric_better", 1), "smaller");
    OK(wl_store_observations_of(s, 0, "val_loss", &obs, f->arena, &f->e));
    assert_true(obs.metric_value[0] == 3);
    assert_string_equal(obs.metric[0], "val_loss");
    assert_string_equal(column_text(f, &obs, "metric_better", 0), "");
    OK(wl_store_observations_of(s, 0, "nothing", &obs, f->arena, &f->e));
    assert_string_equal(obs.metric[0], "val_mae");
}

/* One query has what a query for each run has, of a campaign alone. */
static void metrics_of_all_runs_are_those_of_each(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    const int64_t run[] = { run_with_metric_definitions(f, s, 2, "eV"), run_with_metric_definitions(f, s, 4, "eV") };
    int64_t other, trial;
    OK(wl_store_add_campaign(s, "other", "[campaign]\n", "0.1.0", &other, &f->e));
    OK(wl_store_add_trial(s, other, &wl_settings_none, NULL, &trial, &f->e));
    const struct wl_metric_row alone = { NAN, "lr", 0.1 };
    const int64_t last = begin_run(f, s, trial, 1);
    end_run(f, s, last, 3, 1);
    OK(wl_store_derive(s, last, &(struct wl_derived) { .actual = wl_settings_none, .metrics = &alone, .n_metrics = 1 },
                       &f->e));

    struct wl_run_metric_rows all;
    struct wl_metric_rows of;
    OK(wl_store_metrics_by_run(s, 0, &all, f->arena, &f->e));
    assert_int_equal(all.n, 3 + 3 + 1);
    for (size_t i = 0; i < 6; i++) {
        OK(wl_store_metrics(s, run[i / 3], &of, f->arena, &f->e));
        assert_int_equal(of.n, 3);
        assert_int_equal(all.v[i].run, run[i / 3]);
        assert_string_equal(all.v[i].metric.name, of.v[i % 3].name);
        assert_true(all.v[i].metric.epoch == 1 && all.v[i].metric.value == of.v[i % 3].value);
    }
    OK(wl_store_metrics_by_run(s, other, &all, f->arena, &f->e));
    assert_true(all.n == 1 && all.v[0].run == last && isnan(all.v[0].metric.epoch) && all.v[0].metric.value == 0.1);
}

/* One cell that readers refuse would make the whole store unreadable. The message names it, without SQL. */
static void what_could_not_be_read_is_not_written(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    const double bad[] = { -3, 2.5, 0x1p63, 1e300, -INFINITY };
    int64_t run = begin_run(f, s, add_trial(f, s, 2), 1);
    struct wl_epoch_row epoch = { .epoch = 1, .begin_ns = 1, .end_ns = 2, .time_s = 1, .samples = 8, .updates = 2 };
    struct wl_derived d = { .actual = wl_settings_none, .epochs = &epoch, .n_epochs = 1 };
    OK(wl_store_derive(s, run, &d, &f->e));
    for (size_t i = 0; i < WL_COUNT(bad); i++) {
        d.actual.threads = bad[i];
        FAILS(WL_EINVAL, wl_strf(f->arena, "actual.threads cannot be %.15g: expected a whole number from 0", bad[i]),
              wl_store_derive(s, run, &d, &f->e));
        d.actual.threads = NAN, epoch.samples = bad[i];
        FAILS(WL_EINVAL, "epoch.samples cannot be", wl_store_derive(s, run, &d, &f->e));
        assert_null(strstr(f->e.msg, "INSERT"));
        epoch.samples = 8;
    }
    epoch.epoch = ((int64_t)1 << 62) + 1;
    FAILS(WL_EINVAL, "epoch.epoch cannot be 4611686018427387905", wl_store_derive(s, run, &d, &f->e));
    epoch.epoch = 1, epoch.end_ns = INT64_MAX;
    FAILS(WL_EINVAL, "epoch.end_ns cannot be", wl_store_derive(s, run, &d, &f->e));
    struct wl_epoch_rows rows;
    OK(wl_store_epochs(s, run, &rows, f->arena, &f->e));
    assert_true(rows.n == 1 && rows.v[0].samples == 8 && rows.v[0].end_ns == 2);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_new_store_can_be_opened_for_reading),
        TEST(settings_identify_a_trial),
        TEST(the_newest_experiment_text_counts),
        TEST(only_missing_repeats_are_planned),
        TEST(runs_are_listed_by_position),
        TEST(a_planned_run_has_no_times),
        TEST(a_finished_run_has_its_totals),
        TEST(readings_are_read_in_order_of_time),
        TEST(marks_and_log_lines_are_read_as_written),
        TEST(derived_rows_are_replaced),
        TEST(phases_and_variations_belong_to_their_run),
        TEST(metric_definitions_are_read_with_their_units),
        TEST(metrics_of_all_runs_are_those_of_each),
        TEST(what_could_not_be_read_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
