#include "law/units/units.h"

#include "law/units/internal.h"

#include <math.h>
#include <string.h>

static const double ALPHA = .05;

enum { UNITS_MAX = 2048 }; /* a matrix of so many rows and columns takes 32 MB, and its eigenvalues some seconds */

const char *const wl_units_names[WL_UNITS_KINDS] = { "node", "gpu", "rank", "switch" };

const char *const wl_units_plurals[WL_UNITS_KINDS] = { "nodes", "GPUs", "ranks", "switches" };

static const struct {
    const char *name, *title;
    bool is_share, shares;
    const char *more, *less; /* of the sentence */
} quantities[WL_UNITS_QUANTITIES] = {
    [WL_UNITS_TIME] = { "time", "time", false, false, "slower", "faster" },
    [WL_UNITS_ENERGY] = { "energy", "energy", false, true, "more energy", "less energy" },
    [WL_UNITS_COMPUTE] = { "compute_within_run", "computing within runs", false, false, "longer", "shorter" },
    [WL_UNITS_ENERGY_WITHIN] = { "energy_within_run", "energy within runs", false, false, "more energy in the same run",
                                 "less energy in the same run" },
    [WL_UNITS_CLOCK] = { "clock_within_run", "clock within runs", false, false, "faster clock", "slower clock" },
    [WL_UNITS_POWER_CAPPED] = { "power_capped_pct", "held down by power limit", true, false, "its power limit", NULL },
    [WL_UNITS_THERMAL_CAPPED] = { "thermal_capped_pct", "held down by temperature", true, false, "its temperature",
                                  NULL },
};

const char *wl_units_title(enum wl_units_quantity q) { return quantities[q].title; }

bool wl_units_find(const char *factor, enum wl_units_kind *kind)
{
    for (int k = 0; k < WL_UNITS_KINDS; k++) {
        if (!wl_str_eq(factor, wl_units_names[k])) continue;
        *kind = (enum wl_units_kind)k;
        return true;
    }
    return false;
}

/* ---- names ---- */

/* "GPU 5 of n3"; a second card with that name has its UUID. */
static void name_gpus(const struct wl_units_input *in, struct wl_units_result *r, struct wl_arena *a)
{
    struct wl_numbering by_uuid = wl_numbering_new(r->n + in->n + 1, a), labels = wl_numbering_new(r->n + 1, a);
    for (size_t u = 0; u < r->n; u++) wl_numbering_of(&by_uuid, r->uuid[u]);
    for (size_t i = 0; i < in->n; i++) {
        const struct wl_units_reading *g = &in->readings[i];
        const size_t u = g->uuid ? wl_numbering_of(&by_uuid, g->uuid) : r->n;
        if (u >= r->n || r->label[u]) continue;
        r->serial[u] = g->serial;
        r->label[u] = isnan(g->number) ? wl_strf(a, "%s of %s", g->uuid, g->node ? g->node : "an unknown node")
                                       : wl_strf(a, "GPU %g of %s", g->number, g->node);
        const size_t before = labels.n;
        if (wl_numbering_of(&labels, r->label[u]) < before) r->label[u] = wl_strf(a, "%s (%s)", r->label[u], g->uuid);
    }
    for (size_t u = 0; u < r->n; u++)
        if (!r->label[u]) r->label[u] = r->uuid[u];
}

static void name_units(const struct wl_units_input *in, const struct wl_units_collection *c, struct wl_units_result *r,
                       struct wl_arena *a)
{
    r->n = c->units.n;
    r->label = wl_new_array(a, const char *, r->n);
    r->serial = wl_new_array(a, const char *, r->n);
    r->uuid = r->kind == WL_UNITS_GPUS ? c->units.text : NULL;
    if (r->uuid)
        name_gpus(in, r, a);
    else
        memcpy(r->label, c->units.text, r->n * sizeof *r->label);
}

/* ---- one quantity ---- */

static double *means(const struct wl_unit_data *d, struct wl_arena *a)
{
    double *mean = wl_new_array(a, double, d->units), *n = wl_new_array(a, double, d->units);
    for (size_t i = 0; i < d->rows; i++)
        for (size_t m = d->first[i]; m < d->first[i + 1]; m++) {
            mean[d->member[m]] += d->y[i];
            n[d->member[m]]++;
        }
    for (size_t u = 0; u < d->units; u++) mean[u] /= n[u];
    return mean;
}

/* Differences of rounding alone: of ln, or of percentage points. */
static bool is_constant(const struct wl_units_table *t, size_t units)
{
    const double most = t->is_share ? 1e-3 : 1e-9;
    bool constant = t->effects.sigma <= most;
    for (size_t u = 0; u < units; u++) constant = constant && !(fabs(t->effects.v[u].value) > most);
    return constant;
}

static const char *why_not(const struct wl_units_table *t, size_t units)
{
    if (t->effects.compared == 0) return "no two of them can be compared";
    if (!(t->effects.df > 0))
        return "more repeats are needed: there is nothing left to estimate the scatter of runs from";
    if (is_constant(t, units)) return "it is the same in all of them";
    if (!(t->effects.sigma > 0)) return "the runs do not scatter at all";
    return NULL;
}

static int add_table(const struct wl_units_collection *c, int q, struct wl_units_result *r, struct wl_arena *a,
                     struct wl_err *e)
{
    const struct wl_units_rows *rows = &c->rows[q];
    if (!rows->n) return 0;
    const struct wl_unit_data d = { .rows = rows->n,
                                    .blocks = rows->blocks.n,
                                    .units = c->units.n,
                                    .y = rows->y,
                                    .block = rows->block,
                                    .first = rows->first,
                                    .member = rows->member,
                                    .shares = quantities[q].shares };
    struct wl_units_table *t = &r->v[r->tables++];
    *t = (struct wl_units_table) { .quantity = (enum wl_units_quantity)q,
                                   .name = quantities[q].name,
                                   .is_share = quantities[q].is_share,
                                   .of_epochs = c->of_epochs[q],
                                   .estimated = c->estimated[q],
                                   .rows = d.rows,
                                   .blocks = d.blocks };
    if (t->is_share) t->mean = means(&d, a);
    int rc = wl_unit_effects_fit(&d, &t->effects, a, e);
    if (rc == 0) t->refusal = why_not(t, d.units);
    return rc;
}

/* ---- notes ---- */

/* "n3, n4 and n5"; unit u and those that were always with it. */
static const char *together(const struct wl_units_result *r, const struct wl_units_table *t, size_t u,
                            struct wl_arena *a)
{
    struct wl_text text = WL_TEXT(a);
    size_t n = 0, k = 0;
    for (size_t i = 0; i < r->n; i++) n += t->effects.v[i].rows && t->effects.v[i].with == u;
    for (size_t i = 0; i < r->n; i++) {
        if (!t->effects.v[i].rows || t->effects.v[i].with != u) continue;
        k++;
        wl_text_addf(&text, "%s%s", k == 1 ? "" : k == n ? " and " : ", ", r->label[i]);
    }
    return n > 1 ? text.s : NULL;
}

static void note_state(struct wl_units_result *r, const struct wl_units_table *t, enum wl_unit_state state,
                       const char *why, struct wl_arena *a)
{
    enum { NAMED = 8 };
    struct wl_text text = WL_TEXT(a);
    size_t n = 0;
    for (size_t u = 0; u < r->n; u++) {
        if (!t->effects.v[u].rows || t->effects.v[u].state != state) continue;
        if (n++ < NAMED) wl_text_addf(&text, "%s%s", n > 1 ? ", " : "", r->label[u]);
    }
    if (n > NAMED) wl_text_addf(&text, " and %zu more", n - NAMED);
    if (n) wl_strs_add(a, &r->notes, wl_strf(a, "%s: %s", text.s, why));
}

static void note_together(struct wl_units_result *r, const struct wl_units_table *t, struct wl_arena *a)
{
    enum { NAMED = 4 };
    struct wl_text text = WL_TEXT(a);
    size_t n = 0;
    for (size_t u = 0; u < r->n; u++) {
        const char *names = together(r, t, u, a);
        if (names && n++ < NAMED) wl_text_addf(&text, "%s%s", n > 1 ? "; " : "", names);
    }
    if (n > NAMED) wl_text_addf(&text, "; and %zu more groups", n - NAMED);
    if (n)
        wl_strs_add(a, &r->notes,
                    wl_strf(a,
                            "only used together: %s: they cannot be separated, and the effect is that of all of them",
                            text.s));
}

/* The time has all units that any quantity between runs has. */
static void add_notes(struct wl_units_result *r, const struct wl_units_table *t, struct wl_arena *a)
{
    note_together(r, t, a);
    note_state(r, t, WL_UNIT_IN_ALL, "used in every run of a setting, or in settings of one run: nothing compares it",
               a);
    note_state(r, t, WL_UNIT_UNCLEAR, "its runs do not separate it from the others", a);
}

int wl_units_compare(const struct wl_units_input *in, enum wl_units_kind kind, struct wl_units_result *out,
                     struct wl_arena *a, struct wl_err *e)
{
    struct wl_units_collection c;
    *out = (struct wl_units_result) { .kind = kind };
    int rc = wl_units_collect(in, kind, &c, a, e);
    if (rc) return rc;
    if (c.units.n > UNITS_MAX)
        return wl_fail(e, WL_EINVAL, "%s: %zu %s: expected at most %d to compare with each other", in->obs->source,
                       c.units.n, wl_units_plurals[kind], UNITS_MAX);
    out->runs = c.runs;
    out->simulated = c.simulated;
    name_units(in, &c, out, a);
    for (int q = 0; q < WL_UNITS_QUANTITIES && rc == 0; q++) rc = add_table(&c, q, out, a, e);
    if (rc) return rc;
    if (out->tables) add_notes(out, &out->v[0], a);
    if (c.unused)
        wl_strs_add(a, &out->notes,
                    wl_strf(a, "left out: %zu of %zu readings of GPUs, of runs that are not shown to have used the GPU",
                            c.unused, in->n));
    if (kind == WL_UNITS_SWITCHES)
        wl_strs_add(
            a, &out->notes,
            "runs on one node count as independent of each other: one slow node makes its switch look slow, which "
            "--factor node shows");
    for (size_t i = 0; i < out->tables; i++)
        if (out->v[i].of_epochs && !out->v[i].refusal) {
            wl_strs_add(a, &out->notes,
                        "within one run, its epochs are taken as independent of each other: a second run says more");
            break;
        }
    return 0;
}

/* ---- in words ---- */

bool wl_units_differs(const struct wl_units_table *t, size_t unit)
{
    return !t->refusal && t->effects.v[unit].p_holm < ALPHA;
}

bool wl_units_is_finding(const struct wl_units_table *t, size_t unit)
{
    const struct wl_unit_effect *v = &t->effects.v[unit];
    if (v->state != WL_UNIT_COMPARED || !wl_units_differs(t, unit)) return false;
    return wl_units_is_worse(t, unit) || (v->others > 1 && !t->is_share);
}

bool wl_units_is_worse(const struct wl_units_table *t, size_t unit)
{
    const double v = t->effects.v[unit].value;
    return t->quantity == WL_UNITS_CLOCK ? v < 0 : v > 0;
}

struct wl_estimate wl_units_percent(const struct wl_units_table *t, size_t unit)
{
    const struct wl_unit_effect *v = &t->effects.v[unit];
    if (t->is_share) return (struct wl_estimate) { v->value, v->lo, v->hi };
    return (struct wl_estimate) { 100 * expm1(v->value), 100 * expm1(v->lo), 100 * expm1(v->hi) };
}

/* "n2", or "the other nodes". */
static const char *others(const struct wl_units_result *r, const struct wl_unit_effect *v, struct wl_arena *a)
{
    return v->others == 1 ? r->label[v->other] : wl_strf(a, "the other %s", wl_units_plurals[r->kind]);
}

const char *wl_units_sentence(const struct wl_units_result *r, const struct wl_units_table *t, size_t unit,
                              struct wl_arena *a)
{
    const struct wl_estimate v = wl_units_percent(t, unit);
    const bool more = v.value > 0;
    const double lo = more ? v.lo : -v.hi, hi = more ? v.hi : -v.lo, by = fabs(v.value);
    const char *names = together(r, t, unit, a), *who = names ? names : r->label[unit],
               *than = others(r, &t->effects.v[unit], a),
               *word = more ? quantities[t->quantity].more : quantities[t->quantity].less,
               *how =
                   wl_strf(a, "(%.3g to %.3g%s, p = %.2g)", lo, hi, t->is_share ? "" : " %", t->effects.v[unit].p_holm);
    if (t->is_share)
        return wl_strf(a, "%s: %s held the clock down %.3g %% of the time, %.3g points %s than on %s %s", who,
                       quantities[t->quantity].more, t->mean[unit], by, more ? "more" : "less", than, how);
    switch (t->quantity) {
    case WL_UNITS_TIME:
        return wl_strf(a, "%s %s %.3g %% %s than %s %s", who, names ? "are" : "is", by, word, than, how);
    case WL_UNITS_CLOCK:
        return wl_strf(a, "%s %s a %.3g %% %s than %s in the same run %s", who, names ? "have" : "has", by, word, than,
                       how);
    case WL_UNITS_COMPUTE:
        return wl_strf(a, "%s %s %.3g %% %s than %s in the same run %s", who, names ? "compute" : "computes", by, word,
                       than, how);
    default: return wl_strf(a, "%s %s %.3g %% %s than %s %s", who, names ? "use" : "uses", by, word, than, how);
    }
}
