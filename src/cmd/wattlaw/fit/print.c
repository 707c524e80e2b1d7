/* The result as text: each group in lines or all in a table, and as many notes as the screen has room for. */
#include "cmd/wattlaw/fit/internal.h"

#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/screen.h"

#include <string.h>

static bool has(const struct wl_strs *notes, const char *note)
{
    for (size_t i = 0; i < notes->n; i++)
        if (wl_str_eq(notes->v[i], note)) return true;
    return false;
}

/* Notes common to all groups, which are printed once, after the last group. */
static struct wl_strs common_notes(const struct wl_law_result *r, struct wl_arena *a)
{
    struct wl_strs out = { 0 };
    for (size_t k = 0; r->n > 1 && k < r->groups[0].notes.n; k++) {
        const char *note = r->groups[0].notes.v[k];
        bool common = true;
        for (size_t i = 1; i < r->n && common; i++) common = has(&r->groups[i].notes, note);
        if (common) wl_strs_add(a, &out, note);
    }
    return out;
}

/* What is printed of each group. */
struct view {
    bool each;            /* the law of each in lines; else a table of laws */
    bool tables, details; /* measurements; the quality of the fit and all curves */
    bool all;             /* --all: tables lose no column */
    struct wl_strs common;
};

static struct view view_of(const struct wl_law_result *r, bool all, struct wl_arena *a)
{
    enum { WITH_TABLES = 1, IN_LINES = 2 }; /* groups that fit on a screen */
    const bool shortened = wl_screen_is_short(all);
    return (struct view) { .each = !shortened || r->n <= IN_LINES,
                           .tables = !shortened || r->n <= WITH_TABLES,
                           .details = !shortened,
                           .all = all,
                           .common = common_notes(r, a) };
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
static size_t print_source(const struct wl_law_group *g, const struct view *view, bool all, struct wl_arena *a)
{
    size_t hidden = 0;
    wl_print("  from       %s at %s, %zu of %zu rows\n", wl_format_count(g->n_runs, "run", a),
             wl_format_count(g->n_configs, "worker count", a), g->counts.used, g->counts.rows);
    for (size_t i = 0; i < g->notes.n; i++)
        if (!has(&view->common, g->notes.v[i])) hidden += !print_note(g->notes.v[i], "", all);
    return hidden;
}

static void print_details(const struct wl_law_result *r, const struct wl_law_group *g,
                          const struct wl_law_curves *curves, const struct view *view, struct wl_arena *a)
{
    wl_curves_print(curves, wl_law_response_symbol(r->response), a);
    if (g->law) wl_fit_print_quality(r, g, a);
    print_source(g, view, true, a);
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
        wl_fit_print_law(g, r->response, a);
    } else {
        wl_print("  %s\n", no_law_text(g, a));
    }
    if (g->n_configs && view->tables) {
        wl_print("\n");
        wl_fit_print_worker_counts(g, curves, r->response, view->all, a);
        wl_print("\n");
    }
    if (!view->details) return view->tables ? print_source(g, view, view->all, a) : 0;
    print_details(r, g, curves, view, a);
    wl_fit_print_models(g, curves, view->all, a);
    return 0;
}

/* ---- several groups on one screen ---- */

static void overview_row(struct wl_table *t, const struct wl_law_result *r, const struct wl_law_group *g,
                         struct wl_arena *a)
{
    const struct wl_law_estimate *law = g->law;
    wl_table_cellf(t, "%s%s", g->title, g->simulated ? " (simulated)" : "");
    if (r->response == WL_LAW_ENERGY) wl_table_provenance(t, wl_fit_provenance(g));
    if (law) {
        const int d = wl_format_decimals(law->beta_se);
        const double last = g->configs[g->n_configs - 1].workers;
        wl_table_cellf(t, "%g to %g", g->configs[0].workers, last);
        wl_table_cellf(t, "%s %s x N^%.*f", wl_number_text(law->alpha, a), wl_law_response_unit(r->response), d,
                       -law->beta + 0.0);
        wl_table_cell(t, wl_format_interval(law->beta_lo, law->beta_hi, d, a));
        wl_table_cell(t, wl_law_verdict_name(g->verdict));
        wl_table_style(t, wl_fit_style(g->verdict));
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
static size_t print_common_notes(const struct view *view)
{
    bool any = false;
    size_t hidden = 0;
    for (size_t i = 0; i < view->common.n; i++) {
        const bool shown = print_note(view->common.v[i], any ? "" : "all groups", view->all);
        any |= shown;
        hidden += !shown;
    }
    return hidden;
}

void wl_fit_print(const struct wl_law_result *r, const struct wl_law_curves *curves, const struct wl_busy_runs *busy,
                  const struct wl_unlike_repeats *unlike, bool all, struct wl_arena *a)
{
    const struct view view = view_of(r, all, a);
    size_t hidden = 0;
    if (!view.each) print_overview(r, a);
    for (size_t i = 0; view.each && i < r->n; i++) {
        if (i) wl_print("\n");
        hidden += print_group(r, &r->groups[i], &curves[i], &view, a);
    }
    hidden += print_common_notes(&view);
    wl_busy_runs_print(busy, !view.details, a);
    wl_unlike_repeats_print(unlike, !view.details, a);
    if (view.details) return;
    const char *notes = hidden ? wl_strf(a, "%s, ", wl_format_count(hidden, "note", a)) : "";
    wl_screen_print_rest(wl_strf(a,
                                 view.tables ? "%scurves, intervals and the quality of the fit"
                                             : "%smeasurements, curves, intervals, the quality of each fit",
                                 notes));
}
