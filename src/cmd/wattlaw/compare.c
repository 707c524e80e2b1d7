/* wattlaw compare: does a factor (a cap, a clock, a batch size, a machine) change the scaling law? Of two stores:
 * gate.c. */
#include "cmd/cmd.h"

#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/busy.h"
#include "cmd/wattlaw/compare_units.h"
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/gate.h"
#include "cmd/wattlaw/repeats.h"
#include "cmd/wattlaw/screen.h"
#include "law/law.h"

#include <math.h>
#include <stddef.h>

struct compare_options {
    const char *work;
    struct wl_strs map, by, fail_if;
    const char *factor, *base, *response, *undecided;
    int64_t drop_epochs;
    double margin, ratio_margin;
    bool json, exclude_busy, all, markdown;
};

static const struct wl_opt options[] = {
    { .name = "factor",
      .type = WL_STR,
      .offset = offsetof(struct compare_options, factor),
      .unit = "COLUMN",
      .help =
          "column whose values are compared: power_cap_w, clock_mhz, local_batch, hardware, ...; node, gpu, rank and "
          "switch find the ones that differ from the others; required with one STORE (default: none)" },
    { .name = "base",
      .type = WL_STR,
      .offset = offsetof(struct compare_options, base),
      .unit = "LEVEL",
      .help = "reference value of the factor (default: no cap or the highest cap, else the first value)" },
    { .name = "margin",
      .type = WL_REAL,
      .offset = offsetof(struct compare_options, margin),
      .def = "0.05",
      .min = 1e-6,
      .max = 10,
      .help = "equivalence margin: exponents that differ by less count as equal" },
    { .name = "ratio-margin",
      .type = WL_REAL,
      .offset = offsetof(struct compare_options, ratio_margin),
      .def = "5",
      .min = 1e-3,
      .max = 1000,
      .unit = "%",
      .help = "equivalence margin of ratios at one worker count: ratios closer to 1 count as equal" },
    WL_ALL_OPT_ROW(struct compare_options),
    { .name = "fail-if",
      .type = WL_STRS,
      .offset = offsetof(struct compare_options, fail_if),
      .unit = "CONDITION",
      .help = "change from BASE to NEW that fails, with exit status 1, such as energy>3% or throughput<-5%; of time, "
              "energy, power, edp, throughput, token_rate, energy_per_sample, energy_per_token (default: none)" },
    { .name = "undecided",
      .type = WL_CHOICE,
      .offset = offsetof(struct compare_options, undecided),
      .choices = "pass|fail",
      .help = "result of conditions of --fail-if that the runs do not decide (default: exit status 3)" },
    { .name = "markdown",
      .type = WL_FLAG,
      .offset = offsetof(struct compare_options, markdown),
      .help = "print the comparison of BASE and NEW as a Markdown table, for a comment on a pull request" },
    WL_ANALYSIS_OPT_ROWS(struct compare_options),
    WL_FIT_OPT_ROWS(struct compare_options),
    WL_OPT_END
};

/* alpha of an energy law is in joules. */
static enum wl_provenance provenance_of(const struct wl_factor_group *g, enum wl_law_response response)
{
    return response == WL_LAW_ENERGY ? wl_provenance_of(g->estimated, g->simulated) : WL_MEASURED;
}

static void print_levels(const struct wl_factor_group *g, const char *factor, enum wl_law_response response, bool all,
                         struct wl_arena *a)
{
    static const char *const spare[] = { "worker counts", "R2", "alpha" };
    struct wl_table t = wl_table_new(a);
    const char *const heads[] = { factor, "runs", "worker counts" },
                      *const law[] = { "alpha", "beta", "95 % of beta", "R2" },
                      *const did[] = { "throttled %", "caps acted %" };
    for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&t, heads[i], true);
    for (const struct wl_setting *c = NULL; (c = wl_setting_next_clock(c));)
        wl_table_column(&t, wl_strf(a, "%s %s", c->domain, c->unit), true);
    for (size_t i = 0; i < WL_COUNT(did); i++) wl_table_column(&t, did[i], true);
    wl_table_provenance_column(&t);
    for (size_t i = 0; i < WL_COUNT(law); i++) wl_table_column(&t, law[i], true);
    for (size_t l = 0; l < g->n_levels; l++) {
        const struct wl_factor_level *level = &g->levels[l];
        const struct wl_law_estimate *e = level->law.law;
        wl_table_cell(&t, level->value);
        wl_table_int(&t, (double)level->law.n_runs);
        wl_table_int(&t, (double)level->law.n_configs);
        for (const struct wl_setting *c = NULL; (c = wl_setting_next_clock(c));)
            wl_table_real(&t, level->achieved.clock[c->cap], 4);
        wl_table_real(&t, level->achieved.power_capped_pct, 3);
        wl_table_real(&t, level->achieved.caps_acted_pct, 3);
        if (e) {
            int d = wl_format_decimals(e->beta_se);
            const struct wl_amount alpha =
                wl_amount_of(e->alpha, wl_law_response_unit(response), provenance_of(g, response));
            wl_table_provenance(&t, alpha.from);
            wl_table_amount(&t, &alpha, 4);
            wl_table_cellf(&t, "%.*f", d, e->beta);
            wl_table_cell(&t, wl_format_interval(e->beta_lo, e->beta_hi, d, a));
            wl_table_cell(&t, isnan(e->r2) ? NULL : wl_strf(a, "%.4f", e->r2));
        }
        wl_table_row(&t);
    }
    wl_table_spare(&t, spare, WL_COUNT(spare));
    wl_screen_table(&t, all);
}

static void print_pairs(const struct wl_factor_group *g, double margin, struct wl_arena *a)
{
    const struct wl_factor_tests *tests = g->tests;
    struct wl_table t = wl_table_new(a);
    const char *const heads[] = { "pair", "difference of beta", "95 %", "p (Holm)",
                                  wl_strf(a, "p of %g or more", margin) };
    if (!tests->n_pairs) return;
    for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&t, heads[i], i > 0);
    for (size_t i = 0; i < tests->n_pairs; i++) {
        const struct wl_factor_pair *p = &tests->pairs[i];
        int d = wl_format_decimals(p->se);
        wl_table_cellf(&t, "%s - %s", g->levels[p->b].value, g->levels[p->a].value);
        wl_table_cellf(&t, "%+.*f", d, p->difference);
        wl_table_cell(&t, wl_format_interval(p->lo, p->hi, d, a));
        wl_table_cellf(&t, "%.2g", p->p_holm);
        wl_table_cellf(&t, "%.2g", p->p_same);
        wl_table_row(&t);
    }
    wl_print("\n");
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

static void print_slowdowns(const struct wl_factor_group *g, const char *factor, enum wl_law_response response,
                            struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    const char *what = response == WL_LAW_TIME ? "time" : "energy";
    const char *const heads[] = { factor, "workers", wl_strf(a, "%s over that at %s", what, g->levels[g->base].value),
                                  "95 %" };
    if (!g->n_slowdowns) return;
    for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&t, heads[i], true);
    for (size_t i = 0; i < g->n_slowdowns; i++) {
        const struct wl_factor_slowdown *s = &g->slowdowns[i];
        wl_table_cell(&t, g->levels[s->level].value);
        wl_table_cell(&t, isnan(s->workers) ? "all" : wl_strf(a, "%g", s->workers));
        wl_table_cellf(&t, "%.3f", s->ratio.value);
        wl_table_cell(&t, wl_format_interval(s->ratio.lo, s->ratio.hi, 3, a));
        wl_table_row(&t);
    }
    wl_print("\n");
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

static void ratio_cells(struct wl_table *t, const struct wl_factor_quantity *q, struct wl_arena *a)
{
    wl_table_cell(t, isnan(q->ratio.value) ? NULL : wl_strf(a, "%.3f", q->ratio.value));
    wl_table_cell(t, wl_format_interval(q->ratio.lo, q->ratio.hi, 3, a));
}

/* Ratios to the base at one worker count, the commonest question: one GPU, many caps. */
static void print_cells(const struct wl_factor_group *g, const char *factor, double workers, double margin, bool all,
                        struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    const char *const heads[] = { factor,
                                  "runs",
                                  "time",
                                  "95 %",
                                  "energy",
                                  "95 %",
                                  "power",
                                  "95 %",
                                  "energy x time",
                                  "95 %",
                                  wl_strf(a, "p of time beyond %g %%", 100 * margin),
                                  "best trade-off" };
    const char *const spare[] = { heads[10], "energy x time", "power", "runs" };
    wl_print("\n");
    for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&t, heads[i], i + 1 < WL_COUNT(heads));
    for (size_t i = 0; i < g->n_cells; i++) {
        const struct wl_factor_cell *c = &g->cells[i];
        if (c->workers != workers) continue;
        wl_table_cell(&t, g->levels[c->level].value);
        wl_table_int(&t, (double)c->runs);
        ratio_cells(&t, &c->time, a);
        ratio_cells(&t, &c->energy, a);
        ratio_cells(&t, &c->power, a);
        ratio_cells(&t, &c->edp, a);
        wl_table_cell(&t, c->level == g->base || isnan(c->time.p_same) ? NULL : wl_strf(a, "%.2g", c->time.p_same));
        wl_table_cell(&t, c->pareto ? "yes" : "");
        if (c->pareto) wl_table_style(&t, WL_GOOD);
        wl_table_row(&t);
    }
    wl_table_spare(&t, spare, WL_COUNT(spare));
    wl_table_keep(&t, "best trade-off");
    wl_print("ratios to %s at %g worker%s, of these allocations%s\n", g->levels[g->base].value, workers,
             workers == 1 ? "" : "s",
             g->simulated   ? " (simulated)"
             : g->estimated ? " (energy estimated)"
                            : "");
    wl_screen_table(&t, all);
}

/* The largest worker count that most levels have. */
static double cells_at(const struct wl_factor_group *g)
{
    double best = NAN;
    size_t most = 0;
    for (size_t i = 0; i < g->n_cells; i++) {
        size_t n = 0;
        for (size_t k = 0; k < g->n_cells; k++) n += g->cells[k].workers == g->cells[i].workers;
        if (n > most || (n == most && g->cells[i].workers > best)) most = n, best = g->cells[i].workers;
    }
    return most > 1 ? best : NAN;
}

static const char *points_of(const struct wl_factor_tests *t)
{
    if (wl_str_eq(t->basis, "blocks")) return "worker counts as blocks";
    return wl_str_eq(t->basis, "run_means") ? "means of runs" : "means of worker counts";
}

static void print_test(const char *label, const struct wl_factor_tests *t, struct wl_arena *a)
{
    if (!isnan(t->p))
        wl_print("  %-10s F(%g, %g) = %.3g, %s, partial eta2 %.2f, over %s\n", label, t->df1, t->df, t->f,
                 wl_format_p(t->p, a), t->partial_eta2, points_of(t));
}

/* The tests that decide, and analyses of covariance that do not: a bend common to all levels is error in them. */
static void print_tests(const struct wl_factor_group *g, struct wl_arena *a)
{
    const struct wl_factor_scaled_work *work = &g->scaled_work;
    print_test("parallel?", g->tests, a);
    if (work->decides)
        wl_print(
            "  %-10s F(%g, %g) = %.3g, %s, along the share of work in the time; the overhead is %.2g %% of it at the "
            "largest worker count\n",
            "work", work->df1, work->df, work->f, wl_format_p(work->p, a), 100 * work->overhead);
    if (!isnan(g->tests->p)) print_test("sensitivity", &g->over_configs, a);
}

static void print_model(const struct wl_factor_group *g, struct wl_arena *a)
{
    const struct wl_factor_overhead *m = &g->overhead;
    if (!g->best_model) return;
    if (m->reason) {
        wl_print("  overhead   W/N + c with one c for all levels not compared: %s\n", m->reason);
        return;
    }
    double power = fmin(g->aicc_common, isnan(g->aicc_separate) ? INFINITY : g->aicc_separate);
    double excess = m->aicc - power;
    wl_print("  overhead   W/N + c with one c = %s s for all levels: AICc %.1f %s than the better power law; ",
             wl_number_text(m->c, a), fabs(excess), excess < 0 ? "lower" : "higher");
    if (excess < -2)
        wl_print("a common overhead explains the times better than exponents do\n");
    else
        wl_print("%s\n", excess > 2 ? "a common overhead does not explain the times" : "the runs do not decide");
}

static enum wl_style style_of(enum wl_factor_verdict v) { return v == WL_FACTOR_UNDECIDED ? WL_CAUTION : WL_ANSWER; }

/* The verdict, then the ratios at one worker count, or the laws where there are none; with details everything. */
static void print_group(const struct wl_factor_result *r, const struct wl_factor_group *g, bool all, struct wl_arena *a)
{
    const bool details = !wl_screen_is_short(all);
    const double workers = cells_at(g);
    wl_print("%s%s%s: %s\n", g->title, g->simulated ? " (simulated)" : "", wl_law_per_work_text(r->work, a), r->factor);
    if (g->refusal) {
        wl_print("  %s\n", g->refusal);
    } else {
        wl_print("  verdict    ");
        wl_fprint_in(WL_STDOUT, style_of(g->verdict), "%s", wl_factor_verdict_name(g->verdict));
        wl_print(" (%s)\n", g->verdict_reason);
        if (!isnan(g->runs_needed))
            wl_print("  runs       %g at each value and worker count, %s\n", g->runs_needed, g->runs_needed_reason);
        else if (g->runs_needed_reason)
            wl_print("  runs       %s\n", g->runs_needed_reason);
        if (details) print_tests(g, a);
        if (details) print_model(g, a);
    }
    for (size_t i = 0; i < g->notes.n; i++) wl_print("  note       %s\n", g->notes.v[i]);
    if (!g->n_levels) return;
    if (details || isnan(workers)) {
        wl_print("\n");
        print_levels(g, r->factor, r->response, all, a);
    }
    if (details && !g->refusal) {
        print_pairs(g, r->margin, a);
        print_slowdowns(g, r->factor, r->response, a);
    }
    if (!isnan(workers)) print_cells(g, r->factor, workers, r->ratio_margin, all, a);
}

static bool any_comparison(const struct wl_factor_result *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (!r->groups[i].refusal || !isnan(cells_at(&r->groups[i]))) return true;
    return false;
}

static int check_arguments(const struct compare_options *o, const struct wl_opts_args *rest, struct wl_err *e)
{
    const bool two = rest->args.n == 2;
    if (rest->command || rest->args.n < 1 || rest->args.n > 2)
        return wl_fail(e, WL_EUSAGE,
                       "expected one store, campaign folder or CSV file with --factor, or two of them: BASE NEW");
    if (!two && !o->factor) return wl_fail(e, WL_EUSAGE, "--factor is required, or a second store: BASE NEW");
    if (two && (o->factor || o->base))
        return wl_fail(e, WL_EUSAGE, "--%s is for the values of a column in one store, not for BASE NEW",
                       o->factor ? "factor" : "base");
    if (!two && (o->fail_if.n || o->undecided || o->markdown))
        return wl_fail(e, WL_EUSAGE, "--%s requires two stores: BASE NEW",
                       o->fail_if.n   ? "fail-if"
                       : o->undecided ? "undecided"
                                      : "markdown");
    if (o->json && o->markdown) return wl_fail(e, WL_EUSAGE, "--json and --markdown exclude each other");
    return 0;
}

static int compare_versions(const struct compare_options *o, const struct wl_opts_args *rest, struct wl_arena *a,
                            struct wl_err *e)
{
    return wl_gate_run(&(struct wl_gate_request) { .base = rest->args.v[0],
                                                   .now = rest->args.v[1],
                                                   .fail_if = o->fail_if,
                                                   .undecided = o->undecided,
                                                   .work = o->work,
                                                   .map = o->map,
                                                   .by = o->by,
                                                   .drop_epochs = o->drop_epochs,
                                                   .json = o->json,
                                                   .markdown = o->markdown,
                                                   .exclude_busy = o->exclude_busy },
                       a, e);
}

static int compare_units(const struct compare_options *o, const char *path, const struct wl_observations *obs,
                         const struct wl_busy_runs *busy, enum wl_units_kind kind, struct wl_arena *a, struct wl_err *e)
{
    if (o->base)
        return wl_fail(e, WL_EUSAGE, "--base: a %s is compared with the others, not with one of them", o->factor);
    return wl_compare_units(&(struct wl_units_request) { .path = path,
                                                         .obs = obs,
                                                         .busy = busy,
                                                         .kind = kind,
                                                         .by = o->by,
                                                         .drop_epochs = o->drop_epochs,
                                                         .json = o->json,
                                                         .all = o->all },
                            a, e);
}

static int run(void *opts, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct compare_options *o = opts;
    int rc = check_arguments(o, rest, e);
    if (rc) return rc;
    if (rest->args.n == 2) return compare_versions(o, rest, a, e);
    struct wl_observations obs = { 0 };
    struct wl_busy_runs busy;
    struct wl_unlike_repeats unlike;
    struct wl_factor_result result;
    enum wl_units_kind kind;
    struct wl_factor_options how = { .factor = o->factor, .base = o->base, .margin = o->margin };
    how.ratio_margin = o->ratio_margin / 100;
    how.law = (struct wl_law_options) { .by = o->by, .drop_epochs = o->drop_epochs };
    how.law.response = wl_str_eq(o->response, "energy_j") ? WL_LAW_ENERGY : WL_LAW_TIME;
    rc = wl_analysis_read(rest->args.v[0], &o->map, &obs, a, e);
    if (rc == 0) rc = wl_law_per_work(&obs, o->work, a, e);
    if (rc == 0) rc = wl_busy_runs_find(rest->args.v[0], o->exclude_busy, &obs, &busy, a, e);
    if (rc == 0 && wl_units_find(o->factor, &kind)) return compare_units(o, rest->args.v[0], &obs, &busy, kind, a, e);
    if (rc == 0) rc = wl_unlike_repeats_find(rest->args.v[0], &obs, &unlike, a, e);
    if (rc == 0) rc = wl_factor_compare(&obs, &how, &result, a, e);
    if (rc) return rc;
    if (o->json) {
        struct wl_json *root = wl_analysis_json(rest->args.v[0], a);
        wl_json_add_int(root, "drop_epochs", o->drop_epochs);
        if (!wl_str_eq(o->work, "epochs")) wl_json_add_str(root, "work", o->work);
        wl_factor_json(&result, root);
        wl_busy_runs_json(&busy, root);
        wl_unlike_repeats_json(&unlike, root);
        wl_json_print(root);
    } else {
        for (size_t i = 0; i < result.n; i++) {
            if (i) wl_print("\n");
            print_group(&result, &result.groups[i], o->all, a);
        }
        wl_busy_runs_print(&busy, wl_screen_is_short(o->all), a);
        wl_unlike_repeats_print(&unlike, wl_screen_is_short(o->all), a);
        if (wl_screen_is_short(o->all))
            wl_screen_print_rest("tests, the law at each value, pairs and ratios at other worker counts");
    }
    return any_comparison(&result) ? WL_EXIT_OK : WL_EXIT_FAILED;
}

const struct wl_cmd wl_cmd_compare = {
    .name = "compare",
    .usage = "STORE|CSV --factor COLUMN [options] | BASE NEW [--fail-if CONDITION]",
    .help = "test whether a factor (cap, clock, batch size, machine), or a new version, changes time and energy",
    .more =
        "DIFFERENT: parallel lines for all values are rejected. EQUIVALENT: every pair of slopes differs by less than\n"
        "the margin. UNDECIDED: neither. Exit status 1 if no group has two values to compare.\n"
        "\n"
        "BASE NEW are two stores, campaign folders or CSV files of the same settings, such as before and after a "
        "change of\n"
        "the program. Exit status 0: every condition of --fail-if is within its bound (at 2.5 %); 1: one is shown to "
        "be\n"
        "beyond it; 3: the runs do not decide.\n"
        "\n"
        "  wattlaw compare caps --factor power_cap_w\n"
        "  wattlaw compare main.db pull-request.db --fail-if 'energy>3%,time>2%' --markdown\n"
        "  wattlaw compare caps --factor node\n"
        "  wattlaw compare times.csv --factor hardware --by workload --json",
    .options = options,
    .options_size = sizeof(struct compare_options),
    .run = run,
};
