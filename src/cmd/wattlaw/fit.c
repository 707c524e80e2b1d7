/* wattlaw fit: the scaling law of each group, for people or as JSON. */
#include "cmd/cmd.h"

#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/busy.h"
#include "cmd/wattlaw/curves.h"
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/prior.h"
#include "cmd/wattlaw/screen.h"
#include "law/law.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

struct fit_options {
    const char *work;
    struct wl_strs map, by, prior;
    const char *response;
    int64_t drop_epochs;
    double beyond, margin;
    bool json, exclude_busy, all;
};

static const struct wl_opt options[] = {
    { .name = "beyond",
      .type = WL_REAL,
      .offset = offsetof(struct fit_options, beyond),
      .def = "0",
      .min = 0,
      .max = WL_LAW_WORKERS_MAX,
      .unit = "workers",
      .help = "largest worker count to fit when testing extrapolation to larger ones; 0: all but the two largest" },
    { .name = "margin",
      .type = WL_REAL,
      .offset = offsetof(struct fit_options, margin),
      .def = "0.05",
      .min = 0.001,
      .max = 10,
      .unit = "change",
      .help = "largest change of the exponent per factor of 10 in the worker count that still counts as a power law" },
    WL_ALL_OPT_ROW(struct fit_options),
    WL_PRIOR_OPT_ROW(struct fit_options),
    WL_ANALYSIS_OPT_ROWS(struct fit_options),
    WL_FIT_OPT_ROWS(struct fit_options),
    WL_OPT_END
};

static const char *basis(const struct wl_law_estimate *e)
{
    return wl_str_eq(e->name, "run_means") ? "means of runs" : "means of worker counts";
}

static void print_exponent(const struct wl_law_estimate *law)
{
    int d = wl_format_decimals(law->beta_se);
    wl_print("  beta       %.*f", d, law->beta);
    if (isnan(law->beta_lo))
        wl_print(", no error estimate\n");
    else
        wl_print(", 95 %% interval %.*f to %.*f\n", d, law->beta_lo, d, law->beta_hi);
}

/* The basis of the interval, and the interval on the other basis: over runs or over means of worker counts. */
static void print_error(const struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_estimate *law = g->law;
    const struct wl_law_estimate *other = &g->estimates[law == g->estimates ? WL_LAW_CONFIG_MEANS : WL_LAW_RUN_MEANS];
    int d = wl_format_decimals(law->beta_se);
    if (isnan(law->beta_lo)) return;
    wl_print("  error      standard error of beta %.*f, %g degree%s of freedom, over %s\n", d, law->beta_se, law->df,
             law->df == 1 ? "" : "s", basis(law));
    if (!isnan(other->beta_lo) && g->n_runs > g->n_configs)
        wl_print("  narrower   %.*f, %.*f to %.*f, over %s\n", d, other->beta, d, other->beta_lo, d, other->beta_hi,
                 basis(other));
    if (!isnan(law->p_beta)) wl_print("  against 0  %s\n", wl_format_p(law->p_beta, a));
}

/* Time shrinks and is divided, energy grows and is multiplied. */
static void print_doubling(const struct wl_law_group *g, enum wl_law_response response)
{
    double factor = pow(2, -g->law->beta);
    if (g->scaling == WL_SCALING_MIXED)
        wl_print("not a speed-up, since the work of %s differs\n", g->work ? "a step" : "an epoch");
    else if (response == WL_LAW_ENERGY)
        wl_print("twice the workers take %.3g times the energy\n", factor);
    else if (g->scaling == WL_SCALING_WEAK)
        wl_print("twice the workers on twice the work take %.3g times as long (ideal: 1)\n", factor);
    else
        wl_print("twice the workers are %.3g times as fast (ideal: 2)\n", 1 / factor);
}

static enum wl_provenance provenance_of(const struct wl_law_group *g)
{
    return wl_provenance_of(g->estimated, g->simulated);
}

static enum wl_style style_of(enum wl_law_verdict v)
{
    return v == WL_LAW_SUPPORTED ? WL_GOOD : v == WL_LAW_REJECTED ? WL_BAD : WL_CAUTION;
}

/* "0.12 µJ/token at N = 1, 0.2 µJ/token at N = 64 (measured means)" */
static void print_each(const struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_config *ends[] = { &g->configs[0], &g->configs[g->n_configs - 1] };
    wl_print("  each       ");
    for (size_t i = 0; i < WL_COUNT(ends); i++) {
        const struct wl_amount all = wl_amount_of(ends[i]->response, "J", provenance_of(g)),
                               one = wl_amount_times(&all, 1 / g->work->n, "J");
        wl_print("%s%s per %s at N = %g", i ? ", " : "", wl_amount_text(&one, a), g->work->one, ends[i]->workers);
    }
    wl_print("\n");
}

static void print_law(const struct wl_law_group *g, enum wl_law_response response, struct wl_arena *a)
{
    const char *mark = wl_provenance_mark(response == WL_LAW_ENERGY ? provenance_of(g) : WL_MEASURED);
    wl_print("  law        ");
    wl_fprint_in(WL_STDOUT, WL_ANSWER, "%s = %s %s%s x N^%.*f", wl_law_response_symbol(response),
                 wl_number_text(g->law->alpha, a), wl_law_response_unit(response), mark,
                 wl_format_decimals(g->law->beta_se), -g->law->beta + 0.0);
    wl_print(" for N = %g to %g workers: ", g->configs[0].workers, g->configs[g->n_configs - 1].workers);
    print_doubling(g, response);
    if (response == WL_LAW_ENERGY && g->work) print_each(g, a);
    print_exponent(g->law);
    wl_print("  power law? ");
    wl_fprint_in(WL_STDOUT, style_of(g->verdict), "%s", wl_law_verdict_name(g->verdict));
    wl_print(": %s\n", g->verdict_reason);
}

static void print_fit_quality(const struct wl_law_estimate *law, struct wl_arena *a)
{
    if (isnan(law->r2)) return;
    wl_print("  R2         %.4f (adjusted %.4f)", law->r2, law->r2_adj);
    double scatter = 100 * (exp(law->sigma) - 1);
    if (scatter > 0)
        wl_print("; scatter about the line %s %%",
                 scatter < 10 ? wl_strf(a, "%.1f", scatter) : wl_number_text(rint(scatter), a));
    wl_print("\n");
}

static void print_bend(const struct wl_law_result *r, const struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_config *first = g->configs, *last = &g->configs[g->n_configs - 1];
    if (isnan(g->quadratic.p)) return;
    wl_print("  bend       beta %.3f at N = %g, %.3f at N = %g: log-quadratic %s", first->local_beta, first->workers,
             last->local_beta, last->workers, wl_format_p(g->quadratic.p, a));
    if (r->n > 1) wl_print(", %s adjusted over %zu groups", wl_format_p(g->quadratic.p_bh, a), r->n);
    wl_print("%s\n", g->quadratic.p < 0.05 ? "" : ", not a clear bend");
}

static void print_break(const struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_breakpoint *b = &g->breakpoint;
    if (!(b->p < 0.05)) return;
    if (!b->compared) {
        wl_print("  break      not judged: it needs %d worker counts on each side of N = %.3g, here %zu and %zu\n",
                 WL_LAW_BREAK_SIDE, b->workers, b->before, b->after);
        return;
    }
    wl_print("  break      at N = %.3g (95 %% interval %.3g to %.3g): beta %.3f before, %.3f after, %s\n", b->workers,
             b->lo, b->hi, b->beta1, b->beta2, wl_format_p(b->p, a));
}

static void print_departures(const struct wl_law_group *g, struct wl_arena *a)
{
    for (size_t i = 0; i < g->n_departures; i++) {
        const struct wl_law_departure *d = &g->departures[i];
        if (!(d->p_holm < 0.05)) continue;
        wl_print("  departure  %+.1f %% at %g workers from the law up to %g (Holm's %s)\n", d->excess_pct, d->workers,
                 g->departure_base, wl_format_p(d->p_holm, a));
    }
}

static void print_shape(const struct wl_law_result *r, const struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_lack_of_fit *l = &g->lack_of_fit;
    if (!isnan(l->p))
        wl_print("  curvature  lack of fit F(%g, %g) = %.3g, %s: %s\n", l->df1, l->df2, l->f, wl_format_p(l->p, a),
                 l->p < 0.05 ? "worker counts are off the line by more than repeats explain" : "none seen");
    print_bend(r, g, a);
    print_break(g, a);
    print_departures(g, a);
}

/* What the hierarchical model gives for other runs and other configurations; empty where it is refused. */
static void new_run_cells(struct wl_table *t, const struct wl_law_curves *curves, size_t i, struct wl_arena *a)
{
    const struct wl_law_curves_at *at = i < curves->n ? &curves->at[i] : NULL;
    wl_table_cell(t, at ? wl_format_range(at->run.lo, at->run.hi, a) : NULL);
    wl_table_cell(t, at ? wl_format_range(at->config.lo, at->config.hi, a) : NULL);
}

static void print_worker_counts(const struct wl_law_group *g, const struct wl_law_curves *curves,
                                enum wl_law_response response, bool all, struct wl_arena *a)
{
    static const char *const spare[] = {
        "95 % of new configurations", "95 % of new runs", "95 % of it", "energy ratio", "rows", "epochs", "law"
    };
    struct wl_table t = wl_table_new(a);
    const char *const counts[] = { "workers", "runs", g->work ? "rows" : "epochs" };
    for (size_t i = 0; i < WL_COUNT(counts); i++) wl_table_column(&t, counts[i], true);
    const bool joules = response == WL_LAW_ENERGY;
    if (joules) wl_table_provenance_column(&t);
    wl_table_real_column(&t, wl_law_response_name(response), 4);
    wl_table_column(&t, "95 % of new runs", true);
    wl_table_column(&t, "95 % of new configurations", true);
    wl_table_real_column(&t, "law", 4);
    wl_table_real_column(&t, "speed-up", 4);
    wl_table_column(&t, "95 % of it", true);
    wl_table_real_column(&t, "efficiency", 4);
    if (!joules) wl_table_provenance_column(&t);
    if (joules)
        wl_table_unit_column(&t, "time_s", "time", "s", 4);
    else
        wl_table_unit_column(&t, "energy_j", "energy", "J", 4);
    wl_table_real_column(&t, "energy ratio", 3);
    for (size_t i = 0; i < g->n_configs; i++) {
        const struct wl_law_config *c = &g->configs[i];
        wl_table_workers(&t, c->workers);
        wl_table_int(&t, (double)c->runs);
        wl_table_int(&t, (double)c->epochs);
        const enum wl_provenance from = provenance_of(g);
        const struct wl_amount energy = wl_amount_of(c->energy_j, "J", from),
                               shown = wl_amount_of(c->response, "J", joules ? from : WL_MEASURED),
                               law = { c->fitted, c->fitted_lo, c->fitted_hi, "J", shown.from };
        if (joules) wl_table_provenance(&t, from);
        wl_table_amount(&t, &shown, 0);
        new_run_cells(&t, curves, i, a);
        wl_table_amount(&t, &law, 0);
        wl_table_aligned(&t, c->speedup.value);
        wl_table_cell(&t, wl_format_range(c->speedup.lo, c->speedup.hi, a));
        wl_table_aligned(&t, c->efficiency);
        if (joules) {
            wl_table_aligned(&t, c->time_s);
        } else {
            wl_table_provenance(&t, isnan(c->energy_j) ? WL_MEASURED : from);
            wl_table_amount(&t, &energy, 0);
        }
        wl_table_aligned(&t, c->energy_ratio.value);
        wl_table_row(&t);
    }
    wl_table_spare(&t, spare, WL_COUNT(spare));
    wl_screen_table(&t, all);
}

static const struct wl_law_model *power_of(const struct wl_law_group *g)
{
    for (size_t i = 0; i < g->n_models; i++)
        if (g->models[i].ranked && wl_str_eq(g->models[i].name, "power")) return &g->models[i];
    return NULL;
}

/* The curve with the best AICc, whether the runs decide at all, and which one forecasts held-out worker counts best. */
static void print_best_by_aicc(const struct wl_law_group *g)
{
    const struct wl_law_model *best = g->best_model, *predictor = g->best_predictor, *power = power_of(g);
    size_t rivals = 0; /* within 2 of the best AICc (Burnham and Anderson 2002) */
    if (!best) return;
    for (size_t i = 0; i < g->n_models; i++)
        rivals += g->models[i].ranked && &g->models[i] != best && g->models[i].aicc - best->aicc <= 2;
    wl_print("  AICc       %s, t = %s, is best (weight %.2f", best->name, best->formula, best->weight);
    if (power && power != best) wl_print("; power law %.1f higher", power->aicc - best->aicc);
    wl_print("%s\n", rivals ? "), but the runs do not decide: other curves are within 2" : ")");
    if (predictor)
        wl_print("  held out   %s forecasts larger worker counts from smaller ones best, %.1f %% off\n",
                 predictor->name, predictor->llo_pct);
}

static void print_models(const struct wl_law_group *g, const struct wl_law_curves *curves, bool all, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    const char *const heads[] = { "curve", "t(N)", "parameters", "AICc - best", "weight", "% off at larger N" };
    if (!g->best_model) return;
    for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&t, heads[i], i > 2);
    for (size_t i = 0; i < g->n_models; i++) {
        const struct wl_law_model *m = &g->models[i];
        struct wl_text values = WL_TEXT(a);
        for (size_t j = 0; m->ranked && j < m->k; j++)
            wl_text_addf(&values, "%s%s = %.4g", j ? ", " : "", m->param[j], m->value[j]);
        wl_table_cell(&t, m->name);
        wl_table_cell(&t, m->formula);
        wl_table_cell(&t, m->ranked ? values.s : m->reason);
        if (m->ranked) {
            wl_table_cellf(&t, "%.1f", m->aicc - g->best_model->aicc);
            wl_table_cellf(&t, "%.2f", m->weight);
            wl_table_real(&t, m->llo_pct, 3);
        }
        wl_table_row(&t);
    }
    wl_print(
        "\nfor comparison: the curves by least squares over runs, as if runs of one worker count were independent\n");
    wl_screen_table(&t, all);
    print_best_by_aicc(g);
    wl_curves_print_usl(curves);
}

static bool has_note(const struct wl_law_group *g, const char *note)
{
    for (size_t i = 0; i < g->notes.n; i++)
        if (wl_str_eq(g->notes.v[i], note)) return true;
    return false;
}

/* Notes common to all groups are printed once, after the last group. */
static bool is_common(const struct wl_law_result *r, const char *note)
{
    for (size_t i = 0; i < r->n; i++)
        if (!has_note(&r->groups[i], note)) return false;
    return r->n > 1;
}

/* Prints a note if the screen has room for it, below a line `before` unless that is "". */
static bool print_note(const char *note, const char *before, bool all)
{
    enum { LATER = 5, LABEL = 13 }; /* lines: a busy machine, what --all adds */
    const int width = wl_out_width(WL_STDOUT);
    const size_t text = width > LABEL ? (size_t)(width - LABEL) : 1,
                 lines = 1 + strlen(note) / text + 2 * (*before != 0);
    if (lines > wl_screen_left(all, LATER)) return false;
    if (*before) wl_print("\n%s\n", before);
    wl_print("  note       %s\n", note);
    return true;
}

/* The runs of the law, and notes on them. Returns how many notes the screen has no room for. */
static size_t print_source(const struct wl_law_result *r, const struct wl_law_group *g, bool all, struct wl_arena *a)
{
    size_t hidden = 0;
    wl_print("  from       %s at %s, %zu of %zu rows\n", wl_format_count(g->n_runs, "run", a),
             wl_format_count(g->n_configs, "worker count", a), g->counts.used, g->counts.rows);
    for (size_t i = 0; i < g->notes.n; i++)
        if (!is_common(r, g->notes.v[i])) hidden += !print_note(g->notes.v[i], "", all);
    return hidden;
}

static void print_details(const struct wl_law_result *r, const struct wl_law_group *g,
                          const struct wl_law_curves *curves, struct wl_arena *a)
{
    wl_curves_print(curves, wl_law_response_symbol(r->response), a);
    if (g->law) {
        print_error(g, a);
        print_fit_quality(g->law, a);
        print_shape(r, g, a);
    }
    print_source(r, g, true, a);
}

/* What is printed of each group. */
struct view {
    bool each;            /* the law of each in lines; else a table of laws */
    bool tables, details; /* measurements; the quality of the fit and all curves */
    bool all;             /* --all: tables lose no column */
};

static struct view view_of(const struct wl_law_result *r, bool all)
{
    enum { WITH_TABLES = 1, IN_LINES = 2 }; /* groups that fit on a screen */
    const bool shortened = wl_screen_is_short(all);
    return (struct view) { .each = !shortened || r->n <= IN_LINES,
                           .tables = !shortened || r->n <= WITH_TABLES,
                           .details = !shortened,
                           .all = all };
}

static const char *no_law_text(const struct wl_law_group *g, struct wl_arena *a)
{
    const bool other_column = g->counts.rows && g->counts.no_workers == g->counts.rows;
    return wl_strf(a, "%s%s", g->no_law_reason, other_column ? " (name its column: --map workers=COLUMN)" : "");
}

/* The law in a few lines, the measurements, then the quality of the fit. Returns how many notes are hidden. */
static size_t print_group(const struct wl_law_result *r, const struct wl_law_group *g,
                          const struct wl_law_curves *curves, const struct view *view, struct wl_arena *a)
{
    wl_print("%s%s%s", g->title, g->simulated ? " (simulated)" : "", wl_law_per_work_text(g->work, a));
    if (g->scaling == WL_SCALING_STRONG || g->scaling == WL_SCALING_WEAK)
        wl_print(", %s scaling", wl_law_scaling_name(g->scaling));
    wl_print("\n");
    if (g->law) {
        print_law(g, r->response, a);
    } else {
        wl_print("  %s\n", no_law_text(g, a));
    }
    if (g->n_configs && view->tables) {
        wl_print("\n");
        print_worker_counts(g, curves, r->response, view->all, a);
        wl_print("\n");
    }
    if (!view->details) return view->tables ? print_source(r, g, view->all, a) : 0;
    print_details(r, g, curves, a);
    print_models(g, curves, view->all, a);
    return 0;
}

/* ---- several groups on one screen ---- */

static void overview_row(struct wl_table *t, const struct wl_law_result *r, const struct wl_law_group *g,
                         struct wl_arena *a)
{
    const struct wl_law_estimate *law = g->law;
    wl_table_cellf(t, "%s%s", g->title, g->simulated ? " (simulated)" : "");
    if (r->response == WL_LAW_ENERGY) wl_table_provenance(t, provenance_of(g));
    if (law) {
        const int d = wl_format_decimals(law->beta_se);
        const double last = g->configs[g->n_configs - 1].workers;
        wl_table_cellf(t, "%g to %g", g->configs[0].workers, last);
        wl_table_cellf(t, "%s %s x N^%.*f", wl_number_text(law->alpha, a), wl_law_response_unit(r->response), d,
                       -law->beta + 0.0);
        wl_table_cell(t, wl_format_interval(law->beta_lo, law->beta_hi, d, a));
        wl_table_cell(t, wl_law_verdict_name(g->verdict));
        wl_table_style(t, style_of(g->verdict));
    } else {
        for (int i = 0; i < 4; i++) wl_table_cell(t, NULL);
        wl_table_cell(t, no_law_text(g, a));
    }
    wl_table_row(t);
}

static void print_overview(const struct wl_law_result *r, struct wl_arena *a)
{
    enum { LATER = 4 }; /* lines: the groups left out, what --all adds */
    static const char *const spare[] = { "workers", "beta" };
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "group", false);
    if (r->response == WL_LAW_ENERGY) wl_table_provenance_column(&t);
    wl_table_column(&t, "workers", true);
    const char *per = r->n ? wl_law_per_work_text(r->groups[0].work, a) : "";
    wl_table_column(&t, wl_strf(a, "%s(N)%s", wl_law_response_symbol(r->response), per), true);
    wl_table_column(&t, "beta, 95 %", true);
    wl_table_column(&t, "power law?", false);
    wl_table_column(&t, "note", false);
    wl_table_keep(&t, "power law?");
    wl_table_spare(&t, spare, WL_COUNT(spare));
    for (size_t i = 0; i < r->n; i++) overview_row(&t, r, &r->groups[i], a);
    const size_t cut = wl_screen_table_begin(&t, false, LATER);
    if (cut) wl_print("\n%zu of %zu groups\n", r->n - cut, r->n);
}

/* Notes on all groups, as many as the screen has room for. Returns how many are hidden. */
static size_t print_common_notes(const struct wl_law_result *r, bool all)
{
    bool any = false;
    size_t hidden = 0;
    for (size_t i = 0; r->n && i < r->groups[0].notes.n; i++) {
        const char *note = r->groups[0].notes.v[i];
        if (!is_common(r, note)) continue;
        const bool shown = print_note(note, any ? "" : "all groups", all);
        any |= shown;
        hidden += !shown;
    }
    return hidden;
}

static void print_result(const struct wl_law_result *r, const struct wl_law_curves *curves,
                         const struct wl_busy_runs *busy, bool all, struct wl_arena *a)
{
    const struct view view = view_of(r, all);
    size_t hidden = 0;
    if (!view.each) print_overview(r, a);
    for (size_t i = 0; view.each && i < r->n; i++) {
        if (i) wl_print("\n");
        hidden += print_group(r, &r->groups[i], &curves[i], &view, a);
    }
    hidden += print_common_notes(r, all);
    wl_busy_runs_print(busy, !view.details);
    if (view.details) return;
    const char *notes = hidden ? wl_strf(a, "%s, ", wl_format_count(hidden, "note", a)) : "";
    wl_screen_print_rest(wl_strf(a,
                                 view.tables ? "%scurves, intervals and the quality of the fit"
                                             : "%smeasurements, curves, intervals, the quality of each fit",
                                 notes));
}

static bool any_law(const struct wl_law_result *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->groups[i].law) return true;
    return false;
}

static int run(void *opts, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct fit_options *o = opts;
    if (rest->args.n != 1 || rest->command)
        return wl_fail(e, WL_EUSAGE, "expected one store, campaign folder or CSV file");
    struct wl_observations obs = { 0 };
    struct wl_busy_runs busy;
    struct wl_law_result result;
    struct wl_law_curves *curves;
    struct wl_prior prior;
    struct wl_law_options how = { .by = o->by,
                                  .drop_epochs = o->drop_epochs,
                                  .beyond = o->beyond,
                                  .margin = o->margin,
                                  .thorough = true,
                                  .bootstrap = true };
    how.response = wl_str_eq(o->response, "energy_j") ? WL_LAW_ENERGY : WL_LAW_TIME;
    int rc = wl_prior_read(&o->prior, how.response, &prior, e);
    if (rc == 0) rc = wl_analysis_read(rest->args.v[0], &o->map, &obs, a, e);
    if (rc == 0) rc = wl_law_per_work(&obs, o->work, a, e);
    if (rc == 0) rc = wl_busy_runs_find(rest->args.v[0], o->exclude_busy, &obs, &busy, a, e);
    if (rc == 0) rc = wl_law_fit(&obs, &how, &result, a, e);
    if (rc == 0) rc = wl_law_curves_of_result(&result, &prior.response, &curves, a, e);
    if (rc) return rc;
    if (o->json) {
        struct wl_json *root = wl_analysis_json(rest->args.v[0], a);
        wl_json_add_int(root, "drop_epochs", o->drop_epochs);
        if (!wl_str_eq(o->work, "epochs")) wl_json_add_str(root, "work", o->work);
        wl_law_json(&result, root);
        wl_law_curves_json(curves, result.n, root);
        wl_prior_json(&prior, wl_json_add_object(root, "prior"));
        wl_busy_runs_json(&busy, root);
        wl_json_print(root);
    } else {
        print_result(&result, curves, &busy, o->all, a);
    }
    return any_law(&result) ? WL_EXIT_OK : WL_EXIT_FAILED;
}

const struct wl_cmd wl_cmd_fit = {
    .name = "fit",
    .usage = "STORE|CSV [options]",
    .help = "fit the scaling law t = alpha N^-beta to each group of runs, with intervals",
    .more = "The law is fitted to runs, not to epochs; docs/guide.md explains how and why. Exit status 1 if no group "
            "has at\n"
            "least two worker counts.\n"
            "\n"
            "  wattlaw fit quickstart-results\n"
            "  wattlaw fit times.csv --map workers=gpus --map time_s=seconds --by model --json",
    .options = options,
    .options_size = sizeof(struct fit_options),
    .run = run,
};
