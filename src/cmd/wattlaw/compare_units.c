#include "cmd/wattlaw/compare_units.h"

#include "cmd/cmd.h"

#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/screen.h"
#include "report/report.h"
#include "store/read.h"

#include <math.h>

/* The first column of each table, and what a quantity is called there. */
static const char *const heads[WL_UNITS_QUANTITIES] = {
    [WL_UNITS_TIME] = "time %",
    [WL_UNITS_ENERGY] = "energy %",
    [WL_UNITS_COMPUTE] = "computing in the run %",
    [WL_UNITS_ENERGY_WITHIN] = "energy in the run %",
    [WL_UNITS_CLOCK] = "clock in the run %",
    [WL_UNITS_POWER_CAPPED] = "by power limit, points",
    [WL_UNITS_THERMAL_CAPPED] = "by temperature, points",
};

static int read_input(const struct wl_units_request *r, struct wl_units_input *in, struct wl_arena *a, struct wl_err *e)
{
    struct wl_store *s;
    char *path;
    *in = (struct wl_units_input) { .obs = r->obs, .by = r->by, .drop_epochs = r->drop_epochs };
    if (!wl_analysis_is_store(r->path)) return 0;
    int rc = wl_store_find(r->path, &path, a, e);
    if (rc == 0) rc = wl_store_open(&s, path, WL_STORE_READ, a, e);
    if (rc) return rc;
    rc = wl_report_unit_readings(s, in, a, e);
    wl_store_close(s);
    return rc;
}

/* ---- text ---- */

/* What is known of all units together. */
static const char *test_text(const struct wl_units_table *t, struct wl_arena *a)
{
    const struct wl_unit_effects *f = &t->effects;
    const char *sd = t->is_share ? wl_strf(a, "%.2g points", f->between) : wl_strf(a, "%.2g %%", 100 * f->between);
    return wl_strf(a, "all alike? F(%g, %g) = %.3g, %s; standard deviation between them %s", f->df1, f->df, f->f,
                   wl_format_p(f->p, a), sd);
}

static void print_quantity(const struct wl_units_result *r, const struct wl_units_table *t, bool details,
                           struct wl_arena *a)
{
    enum { SHORT = 5 };
    size_t n = 0;
    const char *subject = wl_strf(a, "%s%s", wl_units_title(t->quantity), t->estimated ? " (estimated)" : "");
    for (size_t u = 0; u < r->n; u++) {
        if (!wl_units_is_finding(t, u) || (n++ >= SHORT && !details)) continue;
        wl_print("  %-25s ", n > 1 ? "" : subject);
        wl_fprint_in(WL_STDOUT, WL_ANSWER, "%s", wl_units_sentence(r, t, u, a));
        wl_print("\n");
    }
    if (n > SHORT && !details) wl_print("  %-25s and %zu more\n", "", n - SHORT);
    if (!n)
        wl_print("  %-25s %s\n", subject,
                 t->refusal ? wl_strf(a, "not compared: %s", t->refusal)
                            : wl_strf(a, "none of the %s is shown to differ", wl_units_plurals[r->kind]));
    if (details && !t->refusal) wl_print("  %-25s %s\n", "", test_text(t, a));
}

static void effect_cells(struct wl_table *table, const struct wl_units_table *t, size_t u, struct wl_arena *a)
{
    const struct wl_unit_effect *v = &t->effects.v[u];
    const struct wl_estimate percent = wl_units_percent(t, u);
    const bool compared = v->state == WL_UNIT_COMPARED && !t->refusal;
    const int d = compared ? (int)fmin(wl_format_decimals((percent.hi - percent.lo) / 4), 2) : 0;
    wl_table_cell(table, compared ? wl_strf(a, "%+.*f", d, percent.value) : NULL);
    wl_table_cell(table, compared ? wl_format_interval(percent.lo, percent.hi, d, a) : NULL);
    wl_table_cell(table, compared ? wl_strf(a, "%.2g", v->p_holm) : NULL);
}

static bool has_effect(const struct wl_units_result *r, size_t u)
{
    for (size_t i = 0; i < r->tables; i++)
        if (r->v[i].effects.v[u].rows && r->v[i].effects.v[u].with == u) return true;
    return false;
}

static bool any_differs(const struct wl_units_result *r, size_t u)
{
    for (size_t i = 0; i < r->tables; i++)
        if (wl_units_differs(&r->v[i], u)) return true;
    return false;
}

static void add_row(struct wl_table *t, const struct wl_units_result *r, size_t u, struct wl_arena *a)
{
    wl_table_cell(t, r->label[u]);
    wl_table_int(t, (double)r->v[0].effects.v[u].rows);
    for (size_t i = 0; i < r->tables; i++)
        if (!r->v[i].refusal) effect_cells(t, &r->v[i], u, a);
    wl_table_row(t);
}

/* Those that differ first. */
static void print_units(const struct wl_units_result *r, bool all, struct wl_arena *a)
{
    enum { SHORT = 16 };
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, wl_units_names[r->kind], false);
    wl_table_column(&t, "runs", true);
    for (size_t i = 0; i < r->tables; i++) {
        if (r->v[i].refusal) continue;
        wl_table_column(&t, heads[r->v[i].quantity], true);
        wl_table_column(&t, "95 %", true);
        wl_table_column(&t, "p (Holm)", true);
    }
    size_t left_out = 0, rows = 0;
    for (int differs = 1; differs >= 0; differs--)
        for (size_t u = 0; u < r->n; u++) {
            if (!has_effect(r, u) || any_differs(r, u) != differs) continue;
            if (wl_screen_is_short(all) && rows++ >= SHORT)
                left_out++;
            else
                add_row(&t, r, u, a);
        }
    wl_print("\neffects against the %s that are not shown to differ%s\n", wl_units_plurals[r->kind],
             r->simulated ? " (simulated)" : "");
    wl_screen_table(&t, all);
    if (left_out) wl_print("and %zu more %s (--all)\n", left_out, wl_units_plurals[r->kind]);
}

static bool any_compared(const struct wl_units_result *r)
{
    for (size_t i = 0; i < r->tables; i++)
        if (!r->v[i].refusal) return true;
    return false;
}

static void print_result(const struct wl_units_result *r, bool all, struct wl_arena *a)
{
    const bool details = !wl_screen_is_short(all);
    wl_print("%s: %zu of them in %s%s\n", wl_units_names[r->kind], r->n, wl_format_count(r->runs, "run", a),
             r->simulated ? " (simulated)" : "");
    for (size_t i = 0; i < r->tables; i++) print_quantity(r, &r->v[i], details, a);
    for (size_t i = 0; i < r->notes.n; i++) wl_print("  %-25s %s\n", "note", r->notes.v[i]);
    if (any_compared(r)) print_units(r, all, a);
}

int wl_compare_units(const struct wl_units_request *r, struct wl_arena *a, struct wl_err *e)
{
    struct wl_units_input in;
    struct wl_units_result result;
    int rc = read_input(r, &in, a, e);
    if (rc == 0) rc = wl_units_compare(&in, r->kind, &result, a, e);
    if (rc) return rc;
    if (r->json) {
        struct wl_json *root = wl_analysis_json(r->path, a);
        wl_json_add_int(root, "drop_epochs", r->drop_epochs);
        wl_units_json(&result, root);
        wl_busy_runs_json(r->busy, root);
        wl_json_print(root);
    } else {
        print_result(&result, r->all, a);
        wl_busy_runs_print(r->busy, wl_screen_is_short(r->all), a);
        if (wl_screen_is_short(r->all)) wl_screen_print_rest("tests that all are alike, and every column");
    }
    return any_compared(&result) ? WL_EXIT_OK : WL_EXIT_FAILED;
}
