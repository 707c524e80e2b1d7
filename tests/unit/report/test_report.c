/* The report of stores full of made-up runs. */
#include "test.h"

#include <math.h>

#include "planner/planner.h"
#include "report/report.h"
#include "synthetic.h"
#include "synthetic_store.h"

static struct wl_document *report_with(const struct made *m, struct wl_report_options options, struct wl_arena *a)
{
    char *path = wl_path_join(a, new_folder(a), WL_STORE_FILE);
    struct wl_store *store;
    struct wl_document *d;
    assert_ok(synthetic_store(path, m, a, e));
    assert_ok(wl_store_open(&store, path, WL_STORE_READ, a, e));
    assert_ok(wl_report_build(&d, store, &options, a, e));
    return d;
}

static struct wl_document *report_of(const struct made *m, struct wl_arena *a)
{
    return report_with(m, (struct wl_report_options) { .drop_epochs = 1 }, a);
}

/* The report of a store that several tests look at is built once. */
static struct wl_arena *shared_arena;

static int shared_up(void **state)
{
    (void)state;
    shared_arena = wl_arena_new(NULL);
    return 0;
}

static int shared_down(void **state)
{
    (void)state;
    wl_arena_free(shared_arena);
    return 0;
}

static struct wl_document *report_once(struct wl_document **made, const struct made *m)
{
    if (!*made) *made = report_of(m, shared_arena);
    return *made;
}

static struct wl_document *report_of_small(void)
{
    static struct wl_document *d;
    return report_once(&d, &synthetic_small);
}

static struct wl_document *report_of_capped(void)
{
    static struct wl_document *d;
    return report_once(&d, &synthetic_capped);
}

static struct wl_document *report_of_large(void)
{
    static struct wl_document *d;
    struct made m = synthetic_large;
    m.epochs = 3;
    m.devices = 1;
    return report_once(&d, &m);
}

static struct wl_figure *figure(const struct wl_document *d, const char *id)
{
    for (size_t i = 0; i < d->n_sections; i++) {
        for (size_t k = 0; k < d->sections[i]->n_figures; k++) {
            if (wl_str_eq(d->sections[i]->figures[k]->id, id)) return d->sections[i]->figures[k];
        }
    }
    return NULL;
}

static struct wl_report_table *table(const struct wl_document *d, const char *id)
{
    for (size_t i = 0; i < d->n_sections; i++) {
        for (size_t k = 0; k < d->sections[i]->n_tables; k++) {
            if (wl_str_eq(d->sections[i]->tables[k]->id, id)) return d->sections[i]->tables[k];
        }
    }
    return NULL;
}

static const struct wl_report_cell *cell(const struct wl_report_table *t, size_t row, const char *column)
{
    for (size_t c = 0; c < t->n_columns; c++) {
        if (wl_str_eq(t->columns[c].id, column)) return &t->cells[row * t->n_columns + c];
    }
    fail_msg("no column %s", column);
    return NULL;
}

static char *joined(const struct wl_strs *list, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < list->n; i++) wl_text_addf(&t, "%s\n", list->v[i]);
    return t.s;
}

static void small_store_has_all_sections(void **state)
{
    struct wl_arena *a = *state;
    struct wl_document *d = report_of_small();

    struct wl_report_table *configs = table(d, "configurations");
    assert_int_equal(configs->n_rows, 4);
    assert_true(configs->estimated);
    assert_int_equal(cell(configs, 0, "runs")->value, 3);
    assert_true(cell(configs, 0, "speedup")->value == 1);
    double speedup = cell(configs, 0, "time_s")->value / cell(configs, 1, "time_s")->value;
    assert_true(fabs(cell(configs, 1, "speedup")->value - speedup) < 1e-12);
    assert_true(fabs(cell(configs, 1, "efficiency")->value - speedup / 2) < 1e-12);
    assert_true(cell(configs, 1, "speedup_lo")->value < speedup && speedup < cell(configs, 1, "speedup_hi")->value);
    assert_true(fabs(cell(configs, 1, "mean_power_w")->value - 50) < 1e-6);

    struct wl_report_table *runs = table(d, "runs");
    assert_int_equal(runs->n_rows, 13);
    assert_string_equal(cell(runs, 12, "status")->text, "failed");
    assert_holds(cell(runs, 12, "reason")->text, "exit status 3");
    assert_true(isnan(cell(runs, 12, "energy_j")->value));

    char *warnings = joined(&d->warnings, a);
    assert_holds(warnings, "Estimated, not measured: the energies of 12 of 12 runs");
    assert_holds(warnings, "Not used: 1 of 13 runs (run 13 failed: exit status 3");
    assert_holds(warnings, "Skipped: 1 of 6 configurations (1000 workers are more than 2 cores)");
    assert_int_equal(d->findings.n, 6); /* two factors, two groups, the best configuration, the global batch */
    assert_int_equal(d->n_head_findings, 2);
    assert_holds(d->findings.v[0], "2 workers instead of 1: ");
    assert_holds(d->findings.v[0], "estimated energy");
    assert_holds(d->findings.v[1], "Local batch 16 instead of 8: ");
    assert_holds(d->findings.v[2], "resnet50, local batch 8: ");
    assert_holds(d->findings.v[2], "95 % interval");
    assert_holds(d->findings.v[2], "estimated energy");
}

static void small_store_has_its_figures(void **state)
{
    (void)state;
    struct wl_document *d = report_of_small();
    const struct wl_figure *time = figure(d, "epoch-time");
    assert_true(time->x.log && time->y.log);
    assert_int_equal(time->x.ticks.n, 2); /* at the worker counts */
    assert_true(time->x.ticks.v[0] == 1 && time->x.ticks.v[1] == 2);
    assert_false(time->estimated); /* times are measured */
    assert_int_equal(time->n_series, 2 * 3 + 2);
    assert_int_equal(time->series[0].n, 6);
    assert_string_equal(time->series[0].label, "local batch 8");

    assert_true(figure(d, "energy-ratio")->estimated);
    assert_true(figure(d, "mean-power")->estimated);
    const struct wl_figure *power = figure(d, "power-over-time");
    assert_true(power->estimated);
    assert_int_equal(power->n_vlines, 4);
    assert_holds(power->series[0].label, "cpu_model, estimated");
    assert_non_null(figure(d, "utilisation-over-time"));
    assert_non_null(figure(d, "training-loss"));
    assert_null(figure(d, "training-accuracy")); /* not reported */
    const struct wl_figure *accuracy = figure(d, "validation-accuracy");
    assert_true(accuracy->x.ticks.v[0] == 1 && accuracy->x.ticks.v[accuracy->x.ticks.n - 1] == 4);
}

/* A workload's own metrics on held-out data are drawn under their names. */
static void custom_metrics_are_drawn(void **state)
{
    struct made m = synthetic_small;
    m.regression = true;
    struct wl_document *d = report_of(&m, *state);
    const struct wl_figure *error = figure(d, "validation-mae");
    assert_string_equal(error->y.label, "val_mae");
    assert_true(error->series[0].n == 4 && isfinite(error->series[0].y[3]));
    assert_null(figure(d, "validation-accuracy"));
    assert_null(figure(d, "validation-top5")); /* beside top-1 it says little */
    d = report_of_small();
    assert_null(figure(d, "validation-mae"));
}

/* Devices of one scope add up in power and spread in utilisation. */
static void devices_of_a_scope_are_summed(void **state)
{
    struct made m = synthetic_capped;
    m.n_caps = 0;
    m.n_workloads = 1;
    m.devices = 4;
    struct wl_document *d = report_of(&m, *state);
    const struct wl_figure *power = figure(d, "power-over-time"), *busy = figure(d, "utilisation-over-time");
    assert_int_equal(power->n_series, 1);
    assert_holds(power->series[0].label, "4 devices");
    for (size_t i = 2; i + 2 < power->series[0].n; i++) assert_true(fabs(power->series[0].y[i] - 1200) < 100);
    assert_int_equal(busy->n_series, 2);
    assert_true(busy->series[1].style == WL_STYLE_BAND);
    assert_true(busy->series[1].lo[3] < busy->series[1].hi[3]);
}

static double metric_cell(const struct wl_document *d, const char *name, size_t row, const char *column)
{
    return cell(table(d, name), row, column)->value;
}

/* The store's own rules (synthetic_store.c) come out of the sections on laws, caps, worker-hours and utilisation. */
static void sections_of_the_analysis_match_the_store(void **state)
{
    (void)state;
    struct wl_document *d = report_of_capped();
    assert_int_equal(table(d, "verdicts")->n_rows, 9);
    assert_true(table(d, "models")->n_rows >= 9 * 3);
    assert_string_equal(cell(table(d, "factors"), 0, "factor")->text, "power cap");
    assert_int_equal(table(d, "factors")->n_rows, 3); /* workloads */

    assert_int_equal(table(d, "forecast")->n_rows, 2 * 9);
    assert_int_equal(table(d, "verdict-reasons")->n_rows, 9);
    assert_int_equal(table(d, "curves")->n_rows, 5 * 9);
    assert_true(table(d, "exponents")->n_rows >= 2 * 9);
    assert_true(table(d, "factor-slowdowns")->n_rows > 0);
    const struct wl_section *beyond = NULL;
    for (size_t i = 0; i < d->n_sections; i++)
        if (wl_str_eq(d->sections[i]->id, "forecast")) beyond = d->sections[i];
    assert_true(beyond && beyond->n_figures == 3); /* one of each workload */
    const struct wl_figure *fan = beyond->figures[0];
    const struct wl_figure_series *runs = &fan->series[0], *configurations = &fan->series[1], *median = &fan->series[2];
    for (size_t i = 0; i < median->n; i++) {
        assert_true(runs->lo[i] < 1.002 * configurations->lo[i] && configurations->lo[i] < median->y[i]);
        assert_true(median->y[i] < configurations->hi[i] && configurations->hi[i] < 1.002 * runs->hi[i]);
    }
    assert_true(runs->hi[median->n - 1] / runs->lo[median->n - 1] > runs->hi[0] / runs->lo[0]);

    const struct wl_figure *bars = figure(d, "tradeoff-power-cap-bert");
    const struct wl_figure_series *speed = &bars->series[0], *energy = &bars->series[1];
    assert_holds(speed->label, "speed, ");
    assert_holds(energy->label, "energy, ");
    size_t base = speed->n - 1; /* the highest cap */
    assert_true(speed->y[base] == 1 && energy->y[base] == 1 && isnan(speed->lo[base]));
    assert_true(speed->y[0] < 1 && speed->lo[0] < speed->y[0] && speed->y[0] < speed->hi[0]);

    const struct wl_figure *hours = figure(d, "energy-worker-hours");
    double kwh = 0;
    for (size_t i = 0; i < hours->n_series; i++) {
        if (hours->series[i].style != WL_STYLE_POINTS) continue;
        for (size_t k = 0; k < hours->series[i].n; k++) kwh += hours->series[i].y[k];
    }
    double of_table = 0;
    for (size_t i = 0; i < table(d, "energy-laws")->n_rows; i++) of_table += metric_cell(d, "energy-laws", i, "kwh");
    assert_true(fabs(kwh - of_table) < 1e-9 * kwh);
}

/* Both batch sizes vary: the law holds the local one fixed, and the other series has figures of its own. */
static void other_batch_size_has_its_own_figures(void **state)
{
    (void)state;
    struct wl_document *d = report_of_small();
    const struct wl_figure *f = figure(d, "epoch-time-constant-global-batch");
    size_t across = 0; /* groups with runs at both worker counts: local batches of 2 b and b */
    assert_non_null(f);
    assert_holds(f->title, "constant global batch");
    for (size_t i = 0; i < f->n_series; i++) {
        const struct wl_figure_series *s = &f->series[i];
        if (s->style == WL_STYLE_POINTS && s->n > 1 && s->x[0] != s->x[s->n - 1]) across++;
    }
    assert_int_equal(across, 1);
    assert_non_null(figure(d, "speedup-constant-global-batch"));
    const struct wl_figure_series *end = &figure(d, "quality-val-top1-constant-global-batch")->series[0];
    assert_true(end->y[0] > 0 && end->y[0] < 1 && end->lo[0] <= end->y[0] && end->y[0] <= end->hi[0]);
    assert_true(figure(d, "energy-ratio-constant-global-batch")->estimated);
}

/* Findings and answers are about all workloads, and the table has every level. */
static void every_factor_has_a_finding(void **state)
{
    (void)state;
    struct wl_document *d = report_of_capped();
    assert_int_equal(d->n_head_findings, 2);
    assert_holds(d->findings.v[0], " workers instead of ");
    assert_holds(d->findings.v[1], "Power cap ");
    assert_holds(d->findings.v[1], " W instead of 250 W: ");
    assert_holds(d->findings.v[1], "over 3 workloads");
    assert_int_equal(d->n_answers, 3);
    const struct wl_report_table *t = table(d, "effects");
    for (size_t i = 0; i < t->n_rows; i++) {
        assert_true(cell(t, i, "pairs")->value > 0);
        assert_true(cell(t, i, "time_lo")->value <= cell(t, i, "time")->value);
        assert_true(cell(t, i, "time")->value <= cell(t, i, "time_hi")->value);
        if (!wl_str_eq(cell(t, i, "factor")->text, "workers")) continue;
        assert_true(cell(t, i, "time")->value < 1);
    }
}

static size_t shown_series(const struct wl_figure *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_series; i++) n += wl_figure_rank(f, &f->series[i]) >= 0;
    return n;
}

/* Speed and energy at every worker count over every level are in the figure; files draw the ends, or those of --at. */
static void worker_counts_and_norms_can_be_chosen(void **state)
{
    double at[] = { 4 };
    struct wl_report_options options = { .drop_epochs = 1 };
    const struct wl_figure *f = figure(report_of_capped(), "tradeoff-power-cap-bert");
    assert_string_equal(f->choices[0].name, "workers");
    assert_int_equal(f->choices[0].options.n, 4);
    assert_int_equal(f->choices[1].options.n, 3);
    assert_int_equal(f->n_series, 2 * 4 * 3);
    assert_int_equal(shown_series(f), 4);
    assert_holds(f->series[0].label, "speed, 1 worker");
    /* Over the lowest cap the highest has the inverse ratio. */
    const struct wl_figure_series *over = NULL;
    for (size_t i = 0; i < f->n_series; i++)
        if (wl_str_eq(f->series[i].label, "speed, 1 worker, over 150")) over = &f->series[i];
    assert_true(over && fabs(over->y[2] * f->series[0].y[0] - 1) < 1e-9);
    assert_true(over->y[0] == 1 && isnan(over->lo[0]));

    options.at = (struct wl_reals) { at, 1 };
    f = figure(report_with(&synthetic_capped, options, *state), "tradeoff-power-cap-bert");
    assert_int_equal(shown_series(f), 2);
    for (size_t i = 0; i < f->n_series; i++)
        if (wl_figure_rank(f, &f->series[i]) >= 0) assert_holds(f->series[i].label, ", 4 workers");
    struct wl_text script = WL_TEXT(*state);
    wl_figure_gnuplot(f, &script);
    assert_holds(script.s, "speed, 4 workers");
    assert_holds_not(script.s, "speed, 1 worker");
}

/* Frey et al. 2022, Fig. 8 and 12, Fig. 15 and 16, Table 2. */
static void views_are_by_domain_and_cap(void **state)
{
    (void)state;
    struct wl_document *d = report_of_capped(); /* bert, resnet50, vgg16 */
    const struct wl_figure *f = figure(d, "epoch-time-1-computer-vision");
    size_t labels = 0;
    assert_non_null(f);
    assert_string_equal(f->workload, "computer vision");
    for (size_t i = 0; i < f->n_series; i++)
        if (f->series[i].style == WL_STYLE_POINTS) labels++;
    assert_int_equal(labels, 2);
    assert_string_equal(f->series[0].label, "resnet50");
    const struct wl_report_table *t = table(d, "exponents-by-workload");
    assert_int_equal(t->n_rows, 3);
    assert_true(cell(t, 0, "vgg16")->value == cell(table(d, "laws"), 8, "beta")->value);
    assert_null(table(report_of_small(), "exponents-by-workload"));
}

/* One setting leaves nothing to choose: the card says so, and what to do. */
static void too_little_evidence_is_said(void **state)
{
    struct made m = synthetic_small;
    m.n_workers = 1;
    m.n_batches = 0;
    struct wl_document *d = report_of(&m, *state);
    assert_int_equal(d->n_answers, 1);
    assert_false(d->answers[0].shown);
    assert_holds(d->answers[0].use, "No setting can be recommended: one setting was measured");
    assert_holds(d->answers[0].use, "wattlaw sweep");
}

/* In the figures of every workload a cap has the same colour, and no two groups look alike. */
static void caps_have_one_colour_each(void **state)
{
    (void)state;
    struct wl_document *d = report_of_capped();
    static const char *const ids[] = { "speedup-1-bert", "speedup-2-resnet50", "speedup-3-vgg16" };
    for (size_t k = 0; k < WL_COUNT(ids); k++) {
        const struct wl_figure *f = figure(d, ids[k]);
        int colour = 0;
        assert_string_equal(f->workload, strrchr(ids[k], '-') + 1);
        for (size_t i = 0; i < f->n_series; i++) {
            if (!f->series[i].label || f->series[i].style != WL_STYLE_POINTS) continue;
            assert_int_equal(f->series[i].colour, colour++);
        }
        assert_int_equal(colour, 3);
    }
}

/* The runs follow Amdahl's law: no straight line is drawn through them. */
static void rejected_power_law_is_not_drawn(void **state)
{
    (void)state;
    struct wl_document *d = report_of_large();
    const struct wl_figure *f = figure(d, "epoch-time");
    size_t lines = 0;
    assert_holds(f->source, "Not a power law, so the curve of the hierarchical model is drawn: ");
    for (size_t i = 0; i < f->n_series; i++) {
        const struct wl_figure_series *s = &f->series[i];
        if (s->style != WL_STYLE_LINE || s->dashed) continue;
        const size_t last = s->n - 1, middle = last / 2;
        const double slope = log(s->y[last] / s->y[0]) / log(s->x[last] / s->x[0]),
                     line = log(s->y[0]) + slope * log(s->x[middle] / s->x[0]);
        lines++;
        assert_true(log(s->y[middle]) < line - .02); /* below the chord: it bends */
    }
    assert_int_equal(lines, 6);
}

/* Many runs: rows and points that the page has no room for are in the CSV files, which have all. */
static void page_of_many_runs_is_small(void **state)
{
    struct wl_arena *a = *state;
    struct made m = synthetic_large;
    m.epochs = 2;
    m.devices = 0;
    m.repeats = 20;
    struct wl_document *d = report_of(&m, a);
    struct wl_text page = WL_TEXT(a), csv = WL_TEXT(a);
    wl_document_html(d, &page);
    assert_true(table(d, "runs")->n_rows >= 1080);
    assert_holds(page.s, "<summary>150 of 10");
    assert_holds(page.s, "Points that would cover each other are drawn once: ");
    const char *rows = strstr(page.s, "id=\"table-runs\""), *end = strstr(rows, "</table>");
    size_t n_rows = 0;
    for (const char *p = rows; (p = strstr(p, "<tr")) && p < end; p++) n_rows++;
    assert_int_equal(n_rows, 1 + 150);
    assert_true(page.n < 800000);
    wl_figure_csv(figure(d, "epoch-time"), &csv);
    size_t points = 0;
    for (const char *p = csv.s; (p = strstr(p, ",points,")); p++) points++;
    assert_true(points >= 1080);
}

static void many_groups_are_split_into_facets(void **state)
{
    (void)state;
    struct wl_document *d = report_of_capped();
    const struct wl_figure *each = figure(d, "epoch-time"); /* the highest cap of each workload */
    assert_string_equal(each->series[0].label, "bert");
    assert_holds(each->title, ", cap 250 W");
    assert_non_null(figure(d, "epoch-time-2-resnet50"));
    assert_non_null(figure(d, "epoch-time-3-vgg16"));
    assert_string_equal(figure(d, "epoch-time-1-bert")->series[0].label, "cap 150 W");
    assert_int_equal(table(d, "laws")->n_rows, 9);
}

/* Six workloads: the usual colours, one ideal line, everything marked as simulated. */
static void large_store_is_marked_as_simulated(void **state)
{
    struct wl_document *d = report_of_large();
    const struct wl_figure *time = figure(d, "epoch-time");
    size_t neutral = 0;
    for (size_t i = 0; i < time->n_series; i++) neutral += time->series[i].colour == WL_COLOUR_NEUTRAL;
    assert_int_equal(neutral, 1);
    assert_true(time->simulated);
    assert_true(time->x.ticks.v[0] == 2 && time->x.ticks.v[time->x.ticks.n - 1] == 424);
    assert_string_equal(time->series[0].label, "bert"); /* in order of names, in the colours of their own */
    assert_int_equal(time->series[0].colour, 1);
    assert_int_equal(table(d, "configurations")->n_rows, 54);
    assert_true(table(d, "laws")->simulated);
    assert_holds(joined(&d->warnings, *state), "Simulated: the energies of 162 of 162 runs");
    assert_holds(joined(&d->findings, *state), "the points curve, so it is not a power law"); /* they follow Amdahl */
}

/* Without sensors the report has times and no energies. */
static void report_without_sensors_has_no_energy(void **state)
{
    struct made m = synthetic_small;
    m.devices = 0;
    m.estimated = false;
    struct wl_document *d = report_of(&m, *state);
    assert_null(figure(d, "energy-ratio"));
    assert_null(figure(d, "mean-power"));
    assert_null(figure(d, "power-over-time"));
    assert_non_null(figure(d, "epoch-time"));
    assert_true(isnan(cell(table(d, "configurations"), 0, "energy_j")->value));
    assert_holds(joined(&d->warnings, *state), "Not measured: the energies of 12 of 12 runs");
    assert_holds_not(joined(&d->findings, *state), "energy");
}

/* One worker count: no law, and the sentence says why. */
static void one_worker_count_has_no_law(void **state)
{
    struct made m = synthetic_small;
    m.n_workers = 1;
    struct wl_document *d = report_of(&m, *state);
    assert_holds(d->findings.v[0], "Local batch 16 instead of 8: ");
    assert_holds(d->findings.v[1], "no law");
    assert_true(isnan(cell(table(d, "laws"), 0, "beta")->value));
    assert_non_null(figure(d, "epoch-time"));
}

/* `measure` of a command without marks: its runs and its power are shown. */
static void runs_without_worker_counts_are_shown(void **state)
{
    struct made m = synthetic_small;
    m.no_workers = true;
    m.n_workers = 1;
    struct wl_document *d = report_of(&m, *state);
    assert_null(figure(d, "epoch-time"));
    assert_null(table(d, "configurations"));
    assert_holds(figure(d, "power-over-time")->source, "the last finished run");
    assert_int_equal(table(d, "runs")->n_rows, 7);
    assert_holds(d->findings.v[0], "Local batch 16 instead of 8: "); /* compared as they are */
    assert_holds(d->findings.v[1], "no law: no row has a positive worker count");
}

/* One run: the page says what it took, and has no table or section without content. */
static void one_run_says_what_it_took(void **state)
{
    struct wl_arena *a = *state;
    struct made m = synthetic_small;
    struct wl_text page = WL_TEXT(a);
    m.no_workers = true;
    m.n_workers = m.n_batches = 1;
    m.repeats = 1;
    struct wl_document *d = report_of(&m, a);
    assert_holds(d->findings.v[0], "Run 1 took 40.0 s and 1.40 kJ (");
    assert_holds(d->findings.v[0], "estimated).");
    assert_holds(d->answers[0].use, "No setting can be recommended: one setting was measured (all runs)");
    wl_document_html(d, &page);
    assert_holds_not(page.s, "<tbody>\n</tbody>");
    assert_holds_not(page.s, "Least energy within");
    for (size_t i = 0; i < d->n_sections; i++) {
        const bool empty = !d->sections[i]->n_figures && !d->sections[i]->n_tables;
        const char *tag = wl_strf(a, "<section id=\"%s\">", d->sections[i]->id);
        assert_int_equal(empty, strstr(page.s, tag) == NULL);
    }
}

/* A workload whose name would break out of everything, and is too long for a legend. */
static void hostile_store_is_escaped(void **state)
{
    struct wl_arena *a = *state;
    const char *const names[] = { synthetic_hostile, "plain" };
    struct made m = synthetic_small;
    struct wl_document_files written;
    m.workloads = names;
    m.n_workloads = 2;
    struct wl_document *d = report_of(&m, a);
    const char *label = figure(d, "epoch-time")->series[0].label;
    assert_true(strlen(label) < 60);
    assert_holds(label, "\xe2\x80\xa6");
    assert_holds(label, "local batch 8");

    char *dir = new_folder(a), *page;
    struct wl_strs formats = wl_str_split(a, "html,svg,csv,md,tex", ',');
    assert_ok(wl_document_write(d, dir, &formats, NULL, &written, a, e));
    assert_ok(wl_file_read(wl_path_join(a, dir, "report.html"), 1 << 24, &page, NULL, a, e));
    assert_holds_not(page, "<script>alert");
    assert_holds(page, "&lt;script&gt;alert(1)");
    for (size_t i = 0; i < written.paths.n; i++) assert_true(wl_is_file(written.paths.v[i]));
    assert_false(wl_is_file("hacked"));
}

static void requested_run_is_drawn(void **state)
{
    struct wl_document *d = report_with(&synthetic_small, (struct wl_report_options) { .run = 2 }, *state);
    assert_holds(figure(d, "power-over-time")->source, "Run 2");
}

static int build(const struct made *m, struct wl_report_options options, struct wl_arena *a, struct wl_err *err)
{
    char *path = wl_path_join(a, new_folder(a), WL_STORE_FILE);
    struct wl_store *store;
    struct wl_document *d;
    assert_ok(synthetic_store(path, m, a, e));
    assert_ok(wl_store_open(&store, path, WL_STORE_READ, a, e));
    return wl_report_build(&d, store, &options, a, err);
}

static void unknown_run_is_refused(void **state)
{
    struct wl_err e = { 0 };
    assert_int_equal(build(&synthetic_small, (struct wl_report_options) { .run = 99 }, *state, &e), WL_ENOENT);
    assert_holds(e.msg, "there is no run 99");
}

static void store_without_finished_runs_is_refused(void **state)
{
    struct made failures = synthetic_small, nothing = synthetic_small;
    struct wl_err e = { 0 };
    failures.only_failures = true;
    assert_int_equal(build(&failures, (struct wl_report_options) { 0 }, *state, &e), WL_EJOB);
    assert_holds(e.msg, "no finished run to report (13 failed");
    nothing.no_runs = true;
    assert_int_equal(build(&nothing, (struct wl_report_options) { 0 }, *state, &e), WL_EJOB);
    assert_holds(e.msg, "has no runs yet");
}

static void unknown_format_is_refused(void **state)
{
    struct wl_document *d = wl_document_new(*state, "t");
    struct wl_strs formats = wl_str_split(*state, "html,svgg", ',');
    struct wl_document_files w;
    struct wl_err e = { 0 };
    assert_int_equal(wl_document_write(d, "/nonexistent", &formats, NULL, &w, *state, &e), WL_EUSAGE);
    assert_holds(e.msg, "did you mean svg?");
}

/* The runs take 5.94 s / N + 0.06 s; the plan says 640 samples x 15 ms / N = 9.6 s / N, and with a fit
 * what they take. */
static void a_plan_is_shown_before_and_after_a_fit(void **state)
{
    struct wl_arena *a = *state;
    static const double counts[] = { 1, 2, 4, 8 };
    struct made m = synthetic_small;
    m.workers = counts, m.n_workers = 4, m.n_batches = 0;
    const char *text = wl_strf(a,
                               "[plan]\nname = lab\nworkers = 1\n[machine m]\nnode_bandwidth = 100\n"
                               "devices_per_node = 8\nnetwork_bandwidth = 10\nidle_power = 20\nmax_power = 400\n"
                               "straggler_cv = 0.01\n[priors]\nstep_time = 0.7\n[workload %s]\nsamples = 800\n"
                               "local_batch = 1\nstep_time = 15ms\nparameters = 1000\n",
                               m.workloads[0]);
    struct wl_planner_plan plan;
    assert_ok(wl_planner_parse("lab.ini", text, NULL, &plan, a, e));
    struct wl_document *d = report_with(&m, (struct wl_report_options) { .drop_epochs = 1, .plan = &plan }, a);
    const struct wl_report_table *t = table(d, "plan");
    assert_int_equal(t->n_rows, 4);
    assert_true(t->estimated && !t->simulated);
    for (size_t i = 0; i < 4; i++) {
        const double measured = cell(t, i, "measured_s")->value, planned = 9.6 / counts[i];
        assert_true(cell(t, i, "workers")->value == counts[i]);
        assert_true(fabs(measured / (5.94 / counts[i] + .06) - 1) < .05);
        assert_true(fabs(cell(t, i, "planned_s")->value / planned - 1) < .05);
        assert_true(fabs(cell(t, i, "fitted_s")->value / measured - 1) < .08);
        assert_true(cell(t, i, "planned_lo")->value < planned && planned < cell(t, i, "planned_hi")->value);
    }
    const struct wl_figure *f = figure(d, wl_strf(a, "plan-%s", wl_slug(m.workloads[0], a)));
    assert_non_null(f);
    assert_int_equal(f->n_series, 5);
    assert_int_equal(f->series[4].n, 4);
    assert_true(f->series[2].x[f->series[2].n - 1] == 32);
    assert_holds(joined(&d->findings, a), "The plan lab, fitted to the configurations with at most 4 workers");
    assert_null(table(report_of(&m, a), "plan"));
}

static void a_plan_of_other_workloads_is_refused(void **state)
{
    struct wl_arena *a = *state;
    struct wl_planner_plan plan;
    struct wl_store *store;
    struct wl_document *d;
    struct wl_err refused;
    char *path = wl_path_join(a, new_folder(a), WL_STORE_FILE);
    const char *text = "[plan]\nworkers = 1\n[machine m]\nidle_power = 1\n[workload other]\nsamples = 9\n"
                       "local_batch = 1\nstep_time = 1s\n";
    assert_ok(wl_planner_parse("lab.ini", text, NULL, &plan, a, e));
    assert_ok(synthetic_store(path, &synthetic_small, a, e));
    assert_ok(wl_store_open(&store, path, WL_STORE_READ, a, e));
    const struct wl_report_options options = { .drop_epochs = 1, .plan = &plan };
    assert_int_equal(wl_report_build(&d, store, &options, a, &refused), WL_EINVAL);
    assert_holds(refused.msg, "--plan: ");
    assert_holds(refused.msg, "no run of a workload of lab.ini (first: other)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(small_store_has_all_sections),
        WITH_ARENA(small_store_has_its_figures),
        WITH_ARENA(custom_metrics_are_drawn),
        WITH_ARENA(devices_of_a_scope_are_summed),
        WITH_ARENA(large_store_is_marked_as_simulated),
        WITH_ARENA(report_without_sensors_has_no_energy),
        WITH_ARENA(sections_of_the_analysis_match_the_store),
        WITH_ARENA(other_batch_size_has_its_own_figures),
        WITH_ARENA(many_groups_are_split_into_facets),
        WITH_ARENA(every_factor_has_a_finding),
        WITH_ARENA(worker_counts_and_norms_can_be_chosen),
        WITH_ARENA(views_are_by_domain_and_cap),
        WITH_ARENA(too_little_evidence_is_said),
        WITH_ARENA(caps_have_one_colour_each),
        WITH_ARENA(rejected_power_law_is_not_drawn),
        WITH_ARENA(page_of_many_runs_is_small),
        WITH_ARENA(requested_run_is_drawn),
        WITH_ARENA(a_plan_is_shown_before_and_after_a_fit),
        WITH_ARENA(a_plan_of_other_workloads_is_refused),
        WITH_ARENA(one_worker_count_has_no_law),
        WITH_ARENA(unknown_run_is_refused),
        WITH_ARENA(runs_without_worker_counts_are_shown),
        WITH_ARENA(one_run_says_what_it_took),
        WITH_ARENA(hostile_store_is_escaped),
        WITH_ARENA(store_without_finished_runs_is_refused),
        WITH_ARENA(unknown_format_is_refused),
    };
    return cmocka_run_group_tests(tests, shared_up, shared_down);
}
