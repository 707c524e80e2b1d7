#include "cmd/wattlaw/gate.h"

#include "cmd/cmd.h"
#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/busy.h"
#include "law/law.h"
#include "report/report.h"

#include <math.h>

static const char *verdict_name(enum wl_gate_verdict v)
{
    static const char *const names[] = {
        [WL_GATE_PASSED] = "PASSED", [WL_GATE_UNDECIDED] = "UNDECIDED", [WL_GATE_FAILED] = "FAILED"
    };
    return names[v];
}

/* ---- cells ---- */

static const char *value_text(const struct wl_gate_check *c, double v, struct wl_arena *a)
{
    static const char *const units[WL_GATE_QUANTITIES] = {
        [WL_GATE_ENERGY] = "J",
        [WL_GATE_POWER] = "W",
        [WL_GATE_EDP] = "J s",
        [WL_GATE_ENERGY_PER_SAMPLE] = "J",
        [WL_GATE_ENERGY_PER_TOKEN] = "J",
    };
    if (isnan(v)) return NULL;
    if (units[c->quantity]) {
        const struct wl_amount amount =
            wl_amount_of(v, units[c->quantity], wl_provenance_of(c->estimated, c->simulated));
        return wl_amount_text(&amount, a);
    }
    if (c->quantity == WL_GATE_TIME) return wl_human_time(a, v);
    return wl_strf(a, "%s %s/s", wl_number_text(v, a), c->quantity == WL_GATE_TOKEN_RATE ? "tokens" : "samples");
}

static const char *change_text(const struct wl_gate_check *c, struct wl_arena *a)
{
    return isnan(c->change) ? NULL : wl_strf(a, "%+.2f %%", 100 * c->change);
}

static const char *interval_text(const struct wl_gate_check *c, struct wl_arena *a)
{
    return isnan(c->lo) ? NULL : wl_strf(a, "%+.2f to %+.2f %%", 100 * c->lo, 100 * c->hi);
}

/* In order of importance: a narrow terminal cuts the last ones off. Without conditions there is no result. */
static const struct column {
    const char *head;
    bool right, of_condition;
} columns[] = {
    { "result", false, true },    { "configuration", false, false },
    { "quantity", false, false }, { "change", true, false },
    { "95 %", true, false },      { "fail if", false, true },
    { "BASE", true, false },      { "NEW", true, false },
    { "runs", true, false },      { "note", false, true },
};
enum { COLUMNS = WL_COUNT(columns) };

static void cells_of(const struct wl_gate_check *c, const char *cells[COLUMNS], struct wl_arena *a)
{
    const char *const v[COLUMNS] = { c->condition ? verdict_name(c->verdict) : NULL,
                                     *c->title ? c->title : "all runs",
                                     wl_gate_quantity_name(c->quantity),
                                     change_text(c, a),
                                     interval_text(c, a),
                                     c->condition ? c->condition->text : NULL,
                                     value_text(c, c->base, a),
                                     value_text(c, c->now, a),
                                     wl_strf(a, "%zu, %zu", c->base_runs, c->new_runs),
                                     c->why };
    for (size_t i = 0; i < COLUMNS; i++) cells[i] = v[i];
}

static bool is_shown(size_t column, bool conditions) { return conditions || !columns[column].of_condition; }

/* ---- text ---- */

/* The answer: what failed, else what was not decided, else that all is well. */
static const char *answer(const struct wl_gate_result *r, bool conditions, struct wl_arena *a)
{
    size_t n = 0;
    const struct wl_gate_check *first = NULL;
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].verdict == r->verdict && n++ == 0) first = &r->v[i];
    if (!conditions) return "compared; without --fail-if nothing can fail";
    const char *more = n > 1 ? wl_strf(a, " (and %zu more)", n - 1) : "";
    if (r->verdict == WL_GATE_PASSED) return wl_strf(a, "PASSED: %zu check%s", r->n, r->n == 1 ? "" : "s");
    const char *change = change_text(first, a), *interval = interval_text(first, a);
    return wl_strf(a, "%s: %s of %s: %s%s%s%s against %s%s", verdict_name(r->verdict),
                   wl_gate_quantity_name(first->quantity), *first->title ? first->title : "all runs",
                   change ? change : "unknown", interval ? " (" : "", interval ? interval : "", interval ? ")" : "",
                   first->condition->text, more);
}

static void print_text(const struct wl_gate_result *r, bool conditions, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    wl_print("%s\n\n", answer(r, conditions, a));
    for (size_t k = 0; k < COLUMNS; k++)
        if (is_shown(k, conditions)) wl_table_column(&t, columns[k].head, columns[k].right);
    for (size_t i = 0; i < r->n; i++) {
        const char *cells[COLUMNS];
        cells_of(&r->v[i], cells, a);
        for (size_t k = 0; k < COLUMNS; k++)
            if (is_shown(k, conditions)) wl_table_cell(&t, cells[k]);
        wl_table_row(&t);
    }
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
    for (size_t i = 0; i < r->notes.n; i++) wl_print("note: %s\n", r->notes.v[i]);
}

/* ---- Markdown, for a comment on a pull request ---- */

static const char *escaped(const char *text, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_escape_markdown(&t, text && *text ? text : "-");
    return t.s;
}

static void print_markdown(const struct wl_gate_result *r, const struct wl_busy_runs busy[2], bool conditions,
                           struct wl_arena *a)
{
    wl_print("**wattlaw compare**: %s\n\n|", escaped(answer(r, conditions, a), a));
    for (size_t k = 0; k < COLUMNS; k++)
        if (is_shown(k, conditions)) wl_print(" %s |", columns[k].head);
    wl_print("\n|");
    for (size_t k = 0; k < COLUMNS; k++)
        if (is_shown(k, conditions)) wl_print(columns[k].right ? " ---: |" : " --- |");
    wl_print("\n");
    for (size_t i = 0; i < r->n; i++) {
        const char *cells[COLUMNS];
        cells_of(&r->v[i], cells, a);
        wl_print("|");
        for (size_t k = 0; k < COLUMNS; k++)
            if (is_shown(k, conditions)) wl_print(" %s |", escaped(cells[k], a));
        wl_print("\n");
    }
    for (size_t i = 0; i < r->notes.n; i++) wl_print("\n%s\n", escaped(r->notes.v[i], a));
    for (size_t i = 0; i < 2; i++) {
        const char *text = wl_busy_runs_text(&busy[i], a);
        if (text) wl_print("\nbusy machine: %s\n", escaped(text, a));
    }
}

/* ---- JSON ---- */

static void add_check(struct wl_json *list, const struct wl_gate_check *c)
{
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_str(o, "configuration", c->title);
    wl_json_add_str(o, "quantity", wl_gate_quantity_name(c->quantity));
    wl_json_add_str(o, "fail_if", c->condition ? c->condition->text : NULL);
    wl_json_add_int(o, "base_runs", (int64_t)c->base_runs);
    wl_json_add_int(o, "new_runs", (int64_t)c->new_runs);
    wl_json_add_real(o, "base", c->base);
    wl_json_add_real(o, "new", c->now);
    wl_json_add_real(o, "change", c->change);
    wl_json_add_real(o, "change_lo", c->lo);
    wl_json_add_real(o, "change_hi", c->hi);
    wl_json_add_real(o, "p_beyond", c->p_worse);
    wl_json_add_real(o, "p_beyond_holm", c->p_worse_holm);
    wl_json_add_real(o, "p_within", c->p_within);
    wl_json_add_bool(o, "estimated", c->estimated);
    wl_json_add_bool(o, "simulated", c->simulated);
    wl_json_add_str(o, "verdict", c->condition ? verdict_name(c->verdict) : NULL);
    wl_json_add_str(o, "why", c->why);
}

static void print_json(const struct wl_gate_request *q, const struct wl_gate_result *r, const struct wl_busy_runs *busy,
                       struct wl_arena *a)
{
    struct wl_json *root = wl_analysis_json(q->base, a);
    wl_json_add_str(root, "new", q->now);
    wl_json_add_int(root, "drop_epochs", q->drop_epochs);
    wl_json_add_str(root, "verdict", q->fail_if.n ? verdict_name(r->verdict) : NULL);
    struct wl_json *list = wl_json_add_array(root, "checks");
    for (size_t i = 0; i < r->n; i++) add_check(list, &r->v[i]);
    struct wl_json *notes = wl_json_add_array(root, "notes");
    for (size_t i = 0; i < r->notes.n; i++) wl_json_add_str(notes, NULL, r->notes.v[i]);
    wl_busy_runs_json(&busy[0], wl_json_add_object(root, "base_load"));
    wl_busy_runs_json(&busy[1], wl_json_add_object(root, "new_load"));
    wl_json_print(root);
}

/* ---- the comparison ---- */

static int read_side(const char *path, const struct wl_gate_request *q, struct wl_observations *obs,
                     struct wl_busy_runs *busy, struct wl_arena *a, struct wl_err *e)
{
    int rc = wl_analysis_read(path, &q->map, obs, a, e);
    if (rc == 0) rc = wl_law_per_work(obs, q->work, a, e);
    return rc ? rc : wl_busy_runs_find(path, q->exclude_busy, obs, busy, a, e);
}

static int status_of(const struct wl_gate_request *q, enum wl_gate_verdict v)
{
    if (!q->fail_if.n || v == WL_GATE_PASSED) return WL_EXIT_OK;
    if (v == WL_GATE_FAILED) return WL_EXIT_FAILED;
    return !q->undecided ? WL_EXIT_UNDECIDED : wl_str_eq(q->undecided, "pass") ? WL_EXIT_OK : WL_EXIT_FAILED;
}

int wl_gate_run(const struct wl_gate_request *q, struct wl_arena *a, struct wl_err *e)
{
    struct wl_gate_condition *conditions = wl_new_array(a, struct wl_gate_condition, q->fail_if.n);
    struct wl_observations base = { 0 }, now = { 0 };
    struct wl_busy_runs busy[2];
    struct wl_gate_result r;
    int rc = 0;
    for (size_t i = 0; i < q->fail_if.n && rc == 0; i++) rc = wl_gate_parse(q->fail_if.v[i], &conditions[i], a, e);
    if (rc) return wl_err_prefix(e, "--fail-if");
    rc = read_side(q->base, q, &base, &busy[0], a, e);
    if (rc == 0) rc = read_side(q->now, q, &now, &busy[1], a, e);
    busy[0].of = "BASE";
    busy[1].of = "NEW";
    const struct wl_gate_options how = { conditions, q->fail_if.n, q->by, q->drop_epochs };
    if (rc == 0) rc = wl_gate_compare(&base, &now, &how, &r, a, e);
    if (rc) return rc;
    if (q->json) {
        print_json(q, &r, busy, a);
    } else if (q->markdown) {
        print_markdown(&r, busy, q->fail_if.n > 0, a);
    } else {
        print_text(&r, q->fail_if.n > 0, a);
        for (size_t i = 0; i < WL_COUNT(busy); i++) wl_busy_runs_print(&busy[i], false, a);
    }
    return status_of(q, r.verdict);
}
