/* Metrics against the global batch: numbers, lines, and messages on missing values. */
#include "test.h"

#include <math.h>

#include "report/report.h"
#include "store/store.h"

enum { EPOCHS = 3, METRICS = 8 };

/* A run, and its metrics after each of three epochs. */
struct run_metrics {
    const char *workload;
    double workers, batch;
    struct {
        const char *name;
        double value[EPOCHS];
    } metrics[METRICS];
    const struct wl_metric_def_row *defs;
    size_t n_defs;
};

static void add_run(struct wl_store *store, int64_t campaign, const struct run_metrics *t, int64_t repeat)
{
    struct wl_settings set = wl_settings_none;
    struct wl_metric_row rows[EPOCHS * METRICS];
    struct wl_derived derived = { .actual = wl_settings_none, .metrics = rows };
    derived.metric_defs = t->defs;
    derived.n_metric_defs = t->n_defs;
    struct wl_run_end end = wl_run_end_none;
    int64_t trial, run, at = 1000000000LL * (1 + 10 * repeat);
    set.workload = t->workload;
    set.workers = t->workers;
    set.global_batch = t->batch;
    for (int epoch = 1; epoch <= EPOCHS; epoch++)
        for (int i = 0; i < METRICS && t->metrics[i].name; i++)
            rows[derived.n_metrics++] =
                (struct wl_metric_row) { epoch, t->metrics[i].name, t->metrics[i].value[epoch - 1] };
    end.exit_status = 0;
    end.at = (struct wl_anchor) { at + 5000000000LL, at + 5000000000LL };
    assert_ok(wl_store_add_trial(store, campaign, &set, NULL, &trial, e));
    assert_ok(wl_store_plan_run(store, &(struct wl_run_plan) { .trial = trial, .repeat = repeat }, &run, e));
    assert_ok(wl_store_run_begin(store, run, &(struct wl_run_begin) { .command = "made up", .at = { at, at } }, e));
    assert_ok(wl_store_run_end(store, run, &end, &derived, e));
}

static struct wl_document *report_of(const struct run_metrics *v, size_t n, struct wl_arena *a)
{
    char folder[] = "/tmp/wl-report-XXXXXX";
    struct wl_store *store;
    struct wl_document *d;
    int64_t campaign;
    assert_non_null(mkdtemp(folder));
    char *path = wl_path_join(a, folder, WL_STORE_FILE);
    assert_ok(wl_store_open(&store, path, WL_STORE_CREATE, a, e));
    assert_ok(wl_store_add_campaign(store, "batches", "[campaign]\nname = batches\n", "0.1.0", &campaign, e));
    for (size_t i = 0; i < n; i++) add_run(store, campaign, &v[i], (int64_t)i + 1);
    assert_ok(wl_report_build(&d, store, &(struct wl_report_options) { .drop_epochs = 1 }, a, e));
    wl_store_close(store);
    struct wl_process_result end;
    char *rm[] = { "rm", "-r", folder, NULL };
    assert_ok(wl_process_run(&(struct wl_process_run) { .argv = rm, .merge_stderr = true }, NULL, &end, a, e));
    return d;
}

static const struct wl_section *section(const struct wl_document *d, const char *id)
{
    for (size_t i = 0; i < d->n_sections; i++)
        if (wl_str_eq(d->sections[i]->id, id)) return d->sections[i];
    return NULL;
}

static const struct wl_figure *figure(const struct wl_document *d, const char *id)
{
    const struct wl_section *s = section(d, "batches");
    for (size_t i = 0; s && i < s->n_figures; i++)
        if (wl_str_eq(s->figures[i]->id, id)) return s->figures[i];
    return NULL;
}

static double cell(const struct wl_report_table *t, size_t row, const char *column)
{
    for (size_t c = 0; c < t->n_columns; c++)
        if (wl_str_eq(t->columns[c].id, column)) return t->cells[row * t->n_columns + c].value;
    fail_msg("no column %s", column);
    return NAN;
}

static void near(double got, double wanted)
{
    if (!(fabs(got - wanted) < 1e-6)) fail_msg("%.9g, wanted %.9g", got, wanted);
}

static char *joined(const struct wl_strs *list, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < list->n; i++) wl_text_addf(&t, "%s\n", list->v[i]);
    return t.s;
}

/* Three repeats at 32, one run at 64; the last one has no final accuracy, and one never recorded it. */
static const struct run_metrics runs[] = {
    { "net", 1, 32, { { "val_top1", { .2, .5, .5 } }, { "val_loss", { 3, 1, 2 } }, { "lr", { 9, 9, 9 } } } },
    { "net", 1, 32, { { "val_top1", { .3, .8, .6 } }, { "val_loss", { 3, 2, 2 } }, { "input_s", { 9, 9, 9 } } } },
    { "net", 1, 32, { { "val_top1", { .1, .6, .7 } }, { "val_loss", { 3, 2, 2 } }, { "score", { 1, 2, 3 } } } },
    { "net", 1, 64, { { "val_top1", { .3, .4, .35 } }, { "val_loss", { 3, 2, 90 } }, { "score", { 1, 2, 9 } } } },
    { "net", 2, 64, { { "val_top1", { .3, .2, .25 } }, { "val_loss", { 3, 2, 2 } } } },
    { "net", 2, 128, { { "val_top1", { .3, .2, NAN } }, { "val_loss", { 3, 2, 2 } } } },
    { "net", 2, 128, { { "val_loss", { 3, 2, 2 } } } },
};

static void final_and_best_values_are_means_over_runs(void **state)
{
    struct wl_arena *a = *state;
    struct wl_document *d = report_of(runs, WL_COUNT(runs), a);
    const struct wl_section *s = section(d, "batches");
    const struct wl_figure *f = figure(d, "batch-val-top1");
    assert_non_null(s);
    assert_int_equal(s->n_figures, 3); /* val_top1, val_loss, score; no learning rate, no seconds */
    assert_ptr_equal(s->figures[0], f);
    assert_true(f->x.log && f->x.ticks.n == 2 && f->x.ticks.v[0] == 32 && f->x.ticks.v[1] == 64);
    assert_false(f->y.log);
    assert_int_equal(f->n_series, 6); /* one and two workers: runs, means, best epochs */
    assert_string_equal(f->series[0].label, "1 worker");
    assert_string_equal(f->series[3].label, "2 workers");
    assert_null(f->series[1].label);
    assert_int_equal(f->series[0].n, 4);
    assert_string_equal(f->series[0].notes[1], "run 2");
    const struct wl_figure_series *mean = &f->series[1], *best = &f->series[2];
    assert_int_equal(mean->n, 2);
    near(mean->y[0], .6);
    near(mean->lo[0], .6 - .248413771); /* t(0.975, 2) .1 / sqrt(3) */
    near(mean->hi[0], .6 + .248413771);
    near(mean->y[1], .35);
    assert_true(isnan(mean->lo[1]) && isnan(mean->hi[1]));
    assert_true(best->dashed);
    near(best->y[0], (.5 + .8 + .7) / 3);
    near(best->y[1], .4);
    assert_string_equal(f->source, "Excluded, without a value at the end: run 6, run 7.");

    f = figure(d, "batch-val-loss");
    assert_true(f->y.log); /* 2 and 90 */
    near(f->series[2].y[0], (1 + 2 + 2) / 3.);
    assert_null(f->source);
    f = figure(d, "batch-score"); /* nobody knows whether more is better */
    assert_int_equal(f->n_series, 2);
    near(f->series[1].y[1], 9);
}

static void table_and_finding_have_the_means(void **state)
{
    struct wl_arena *a = *state;
    struct wl_document *d = report_of(runs, WL_COUNT(runs), a);
    const struct wl_report_table *t = section(d, "batches")->tables[0];
    assert_int_equal(t->n_rows, 3 + 4 + 2);
    near(cell(t, 0, "global_batch"), 32);
    near(cell(t, 0, "runs"), 3);
    near(cell(t, 0, "final"), .6);
    near(cell(t, 0, "final_hi"), .848413771);
    near(cell(t, 0, "best"), 2 / 3.);
    assert_true(isnan(cell(t, 1, "final_lo")));
    near(cell(t, 2, "workers"), 2);
    assert_true(isnan(cell(t, 8, "best"))); /* score */
    char *findings = joined(&d->findings, a);
    assert_holds(findings,
                 "net, 1 worker: accuracy on held-out data at the end is best at a global batch of 32, 0.600 (95 "
                 "% interval 0.352 to 0.848); at 64, the largest, it is 0.350.");
}

/* Several workloads have figures of their own. */
static void workloads_have_their_own_figures(void **state)
{
    struct wl_arena *a = *state;
    struct run_metrics v[] = { runs[0], runs[3], runs[0], runs[3] };
    v[2].workload = v[3].workload = "Other net";
    struct wl_document *d = report_of(v, WL_COUNT(v), a);
    assert_non_null(figure(d, "batch-val-top1-net"));
    assert_non_null(figure(d, "batch-val-top1-other-net"));
    assert_holds(figure(d, "batch-val-top1-other-net")->title, "Other net");
}

static const struct wl_figure *learning(const struct wl_document *d, const char *id)
{
    const struct wl_section *s = section(d, "learning");
    for (size_t i = 0; s && i < s->n_figures; i++)
        if (wl_str_eq(s->figures[i]->id, id)) return s->figures[i];
    return NULL;
}

/* Definitions of the workload take precedence over names; a baseline is drawn in the figure of its metric. */
static void workload_definitions_take_precedence(void **state)
{
    struct wl_arena *a = *state;
    static const struct wl_metric_def_row defs[] = {
        { .name = "score", .label = "error", .unit = "m", .larger = 0, .main = true, .place = 1 },
        { .name = "val_top1", .label = "a share that has far more words than an axis", .larger = 0, .place = 2 },
        { .name = "still",
          .label = "error of a forecast that nothing will ever change",
          .unit = "m",
          .larger = 0,
          .baseline_of = "score",
          .place = 3 },
    };
    struct run_metrics v[3] = { runs[2], runs[3], runs[0] }; /* another workload in the same figures has no baseline */
    v[2].workload = "other";
    for (size_t i = 0; i < 2; i++) {
        v[i].metrics[3].name = "still";
        for (int k = 0; k < EPOCHS; k++) v[i].metrics[3].value[k] = 5;
        v[i].metrics[4].name = "my_acc";
        v[i].defs = defs;
        v[i].n_defs = WL_COUNT(defs);
    }
    struct wl_document *d = report_of(v, 3, a);
    const struct wl_section *s = section(d, "batches");
    const struct wl_report_table *t = s->tables[0];
    assert_int_equal(s->n_figures, 4); /* score, val_top1, val_loss, my_acc */
    assert_string_equal(s->figures[0]->id, "batch-score");
    assert_string_equal(s->figures[0]->title, "Error against global batch");
    assert_string_equal(s->figures[0]->y.unit, "m");
    near(cell(t, 0, "best"), 1);
    assert_string_equal(s->figures[1]->id, "batch-val-top1");
    assert_string_equal(s->figures[1]->y.label, "val_top1"); /* the title has the words */
    assert_holds(s->figures[1]->title, "A share that has far more words than an axis");
    near(cell(t, 2, "best"), .1); /* smaller is better: it said so */
    assert_null(strstr(s->figures[1]->caption, "guessed"));
    assert_null(strstr(s->figures[2]->caption, "guessed")); /* a name in use */
    assert_holds(s->figures[3]->caption, "guessed from the name");
    assert_holds(joined(&d->findings, a), "error at the end is best at a global batch of 32, 3.00 m; at 64");

    const struct wl_figure *f = learning(d, "metric-score");
    const struct wl_figure_series *last = &f->series[f->n_series - 1];
    assert_string_equal(f->y.unit, "m");
    assert_string_equal(last->label, "baseline");
    assert_true(last->dashed && last->n == EPOCHS && last->y[0] == 5);
    assert_holds(f->caption, "Dashed: error of a forecast that nothing will ever change.");
    assert_null(learning(d, "metric-still"));
    assert_non_null(learning(d, "quality-score"));
    assert_string_equal(learning(d, "quality-score")->title, "Error at the end of a run");
}

static void missing_metrics_are_a_warning(void **state)
{
    struct wl_arena *a = *state;
    const struct run_metrics one[] = { runs[0], runs[1] };
    assert_null(section(report_of(one, 2, a), "batches")); /* one batch */
    struct run_metrics without_metrics[] = { runs[0], runs[3] };
    memset(without_metrics[0].metrics, 0, sizeof without_metrics[0].metrics);
    memset(without_metrics[1].metrics, 0, sizeof without_metrics[1].metrics);
    struct wl_document *d = report_of(without_metrics, 2, a);
    assert_null(section(d, "batches"));
    assert_holds(joined(&d->warnings, a), "net: no run recorded metrics of learning (metric marks)");
}

int main(void)
{
    const struct CMUnitTest tests[] = { WITH_ARENA(final_and_best_values_are_means_over_runs),
                                        WITH_ARENA(table_and_finding_have_the_means),
                                        WITH_ARENA(workloads_have_their_own_figures),
                                        WITH_ARENA(workload_definitions_take_precedence),
                                        WITH_ARENA(missing_metrics_are_a_warning) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
