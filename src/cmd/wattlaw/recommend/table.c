/* The table of a recommendation: a row per setting, with why it may not be chosen. */
#include "cmd/wattlaw/recommend/recommend.h"
#include "cmd/wattlaw/screen.h"

#include "cmd/wattlaw/format.h"

#include <stdlib.h>

enum { MAX_ROWS = 30 }; /* without --all */

/* Is limit k over a reference that setting i does not have? */
static bool is_unknown(const struct wl_recommendation *r, size_t i, size_t k)
{
    return r->options.limits[k].relative && wl_choose_reference_of(&r->options, i) == WL_CHOOSE_NO_REFERENCE;
}

/* Is a slowdown that is not known all that keeps setting i from being chosen? */
static bool lacks_slowdown(const struct wl_recommendation *r, size_t i)
{
    bool lacks = false;
    for (size_t k = 0; k < r->options.n_limits; k++) {
        if (r->result.rows[i].meets[k] >= r->options.probability) continue;
        if (!is_unknown(r, i, k)) return false;
        lacks = true;
    }
    return lacks;
}

const char *wl_recommend_why_not(const struct wl_recommendation *r, size_t i)
{
    if (r->campaign.settings[i].excluded) return r->campaign.settings[i].excluded;
    if (r->result.rows[i].allowed) return NULL;
    return lacks_slowdown(r, i) ? "its slowdown is not known" : "misses a limit";
}

static const char *role_of(const struct wl_recommendation *r, size_t i, struct wl_arena *a)
{
    const struct wl_choose_result *x = &r->result;
    const struct wl_choose_row *row = &x->rows[i];
    struct wl_text t = WL_TEXT(a);
    const bool is[] = { (int)i == x->choice, (int)i == x->runner_up, (int)i == wl_recommend_reference(r),
                        row->tied && (int)i != x->choice, (int)i == x->knee };
    static const char *const words[] = { "choice", "runner-up", "reference", "tied", "knee" };
    for (size_t k = 0; k < WL_COUNT(is); k++)
        if (is[k]) wl_text_addf(&t, "%s%s", t.n ? ", " : "", words[k]);
    if (wl_recommend_why_not(r, i)) wl_text_addf(&t, "%s%s", t.n ? ", " : "", wl_recommend_why_not(r, i));
    const struct wl_strs *idle = &r->campaign.never_acted[i];
    for (size_t k = 0; k < idle->n; k++) wl_text_addf(&t, "%s%s never acted", t.n ? ", " : "", idle->v[k]);
    return t.s;
}

struct ranked {
    bool allowed;
    double value;
    size_t i;
};

static int by_value(const void *p, const void *q)
{
    const struct ranked *x = p, *y = q;
    if (x->allowed != y->allowed) return x->allowed ? -1 : 1;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

/* Those that may be chosen before the others. */
static struct ranked *rank(const struct wl_recommendation *r, struct wl_arena *a)
{
    struct ranked *v = wl_new_array(a, struct ranked, r->campaign.n);
    for (size_t i = 0; i < r->campaign.n; i++)
        v[i] = (struct ranked) { !wl_recommend_why_not(r, i), r->result.rows[i].ln[r->options.minimize], i };
    qsort(v, r->campaign.n, sizeof *v, by_value);
    return v;
}

static void add_columns(struct wl_table *t, const struct wl_recommendation *r, struct wl_arena *a)
{
    wl_table_column(t, "setting", false);
    wl_table_column(t, "runs", true);
    const char *time = wl_strf(a, "s %s", r->campaign.unit);
    wl_table_column(t, time, true);
    wl_table_range_column(t, "95 %");
    wl_table_provenance_column(t);
    wl_table_unit_column(t, "J", "energy", "J", 4);
    wl_table_range_column(t, "95 %");
    wl_table_column(t, "g CO2e", true);
    wl_table_column(t, wl_strf(a, "cost, %s", wl_recommend_unit(r, WL_CHOOSE_COST)), true);
    for (size_t k = 0; k < r->options.n_limits; k++)
        wl_table_column(t, wl_strf(a, "P(%s)", r->options.limits[k].name), true);
    wl_table_column(t, "trade-off", false);
    wl_table_column(t, "note", false);
    wl_table_keep(t, time);
    wl_table_keep(t, "J");
}

static void add_row(struct wl_table *t, const struct wl_recommendation *r, size_t i, struct wl_arena *a)
{
    const struct wl_choose_row *row = &r->result.rows[i];
    const struct wl_amount time = wl_recommend_amount(r, WL_CHOOSE_TIME, i),
                           energy = wl_recommend_amount(r, WL_CHOOSE_ENERGY, i),
                           carbon = wl_recommend_amount(r, WL_CHOOSE_CARBON, i),
                           cost = wl_recommend_amount(r, WL_CHOOSE_COST, i);
    wl_table_cell(t, r->campaign.settings[i].name);
    wl_table_int(t, (double)r->campaign.settings[i].runs);
    wl_table_amount(t, &time, 4);
    wl_table_range(t, &time);
    wl_table_provenance(t, r->campaign.from[i]);
    wl_table_amount(t, &energy, 0);
    wl_table_range(t, &energy);
    wl_table_amount(t, &carbon, 4);
    wl_table_amount(t, &cost, 4);
    for (size_t k = 0; k < r->options.n_limits; k++)
        wl_table_cell(t, is_unknown(r, i, k) ? "-" : wl_strf(a, "%.2f", row->meets[k]));
    wl_table_cell(t, row->pareto >= 0.9 ? "certain" : row->pareto >= 0.1 ? "possible" : "");
    wl_table_cell(t, role_of(r, i, a));
    wl_table_row(t);
}

void wl_recommend_print_table(const struct wl_recommendation *r, struct wl_arena *a)
{
    enum { LINES_BELOW = 3 };
    const size_t n = r->campaign.n;
    size_t shown = r->asked->all || n <= MAX_ROWS ? n : MAX_ROWS;
    const struct ranked *order = rank(r, a);
    struct wl_table t = wl_table_new(a);
    add_columns(&t, r, a);
    for (size_t k = 0; k < shown; k++) add_row(&t, r, order[k].i, a);
    wl_print("\n");
    shown -= wl_screen_table_begin(&t, r->asked->all, LINES_BELOW);
    if (shown < n)
        wl_print("\n%zu of %zu settings, first those that may be chosen, by expected %s: --all shows every one\n",
                 shown, n, wl_recommend_words(r->options.minimize));
}
