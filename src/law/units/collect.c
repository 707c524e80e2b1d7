/* Rows for the comparison of units: runs of a setting, and the units of a run. */
#include "law/units/internal.h"

#include "law/run_sums.h"

#include <math.h>
#include <string.h>

static const char *const columns[WL_UNITS_KINDS] = { [WL_UNITS_NODES] = "node", [WL_UNITS_SWITCHES] = "switches" };

struct collecting {
    const struct wl_units_input *in;
    enum wl_units_kind kind;
    struct wl_units_collection *out;
    struct wl_numbering runs; /* of the observations, then others */
    size_t observed;          /* how many of them are of the observations */
    size_t *run;              /* [readings] */
    size_t *first;            /* [runs] + 1: its first reading; 0: it has none. Those of a run are together */
    struct wl_arena *a;
};

/* ---- rows ---- */

static void add_member(struct wl_units_rows *r, size_t unit, struct wl_arena *a)
{
    WL_GROW(a, r->member, r->members, r->member_cap);
    r->member[r->members++] = unit;
}

/* After its members; a row without any, or without a value, is dropped. */
static void add_row(struct wl_units_rows *r, double y, const char *block, struct wl_arena *a)
{
    const size_t from = r->n ? r->first[r->n] : 0;
    if (!isfinite(y) || r->members == from) {
        r->members = from;
        return;
    }
    if (r->n == 0) {
        WL_GROW(a, r->first, 0, r->first_cap);
        r->first[0] = 0;
    }
    WL_GROW(a, r->y, r->n, r->y_cap);
    WL_GROW(a, r->block, r->n, r->block_cap);
    WL_GROW(a, r->first, r->n + 1, r->first_cap);
    r->y[r->n] = y;
    r->block[r->n] = wl_numbering_of(&r->blocks, block);
    r->first[++r->n] = r->members;
}

/* ---- between runs ---- */

/* The units that the text of a column lists, each once. */
static void add_listed(struct collecting *c, struct wl_units_rows *r, const char *list)
{
    const struct wl_strs names = wl_str_split(c->a, list, ',');
    const size_t from = r->members;
    for (size_t i = 0; i < names.n; i++) {
        const char *name = wl_str_strip(c->a, names.v[i]);
        bool known = !*name;
        const size_t unit = known ? 0 : wl_numbering_of(&c->out->units, name);
        for (size_t m = from; m < r->members; m++) known |= r->member[m] == unit;
        if (!known) add_member(r, unit, c->a);
    }
}

static void add_gpus(struct collecting *c, struct wl_units_rows *r, const char *run)
{
    const size_t number = run ? wl_numbering_of(&c->runs, run) : 0;
    for (size_t i = run ? c->first[number] : 0; i && i <= c->in->n && c->run[i - 1] == number; i++)
        if (isnan(c->in->readings[i - 1].epoch) && isnan(c->in->readings[i - 1].compute_s) &&
            !c->in->readings[i - 1].unused)
            add_member(r, wl_numbering_of(&c->out->units, c->in->readings[i - 1].uuid), c->a);
}

static int add_runs(struct collecting *c, struct wl_err *e)
{
    const struct wl_observations *obs = c->in->obs;
    struct wl_run_sums *sums;
    struct wl_obs_column column = { 0 };
    int rc = wl_run_sums_collect(obs, &c->in->by, c->in->drop_epochs, &sums, c->a, e);
    if (rc) return rc;
    if (columns[c->kind] && wl_obs_find(obs, columns[c->kind], &column, e) < 0)
        return wl_fail(e, WL_ENOENT,
                       "%s: no column %s: its runs were all in one place, or it does not say where they were",
                       obs->source, columns[c->kind]);
    bool *seen = wl_new_array(c->a, bool, obs->runs);
    for (size_t i = 0; i < obs->n; i++) {
        const size_t k = obs->run_index[i];
        if (seen[k]) continue;
        seen[k] = true;
        const double y[] = { [WL_UNITS_TIME] = log(sums[k].time_s / sums[k].rows),
                             [WL_UNITS_ENERGY] = log(sums[k].energy_j / sums[k].rows) };
        for (int q = WL_UNITS_TIME; q <= WL_UNITS_ENERGY; q++) {
            struct wl_units_rows *r = &c->out->rows[q];
            const size_t before = r->n;
            if (column.name)
                add_listed(c, r, wl_obs_text(&column, i, c->a));
            else
                add_gpus(c, r, obs->run[i]);
            add_row(r, y[q], sums[k].key, c->a);
            if (q == WL_UNITS_TIME) c->out->runs += r->n > before;
        }
        c->out->estimated[WL_UNITS_ENERGY] |= sums[k].estimated;
        c->out->simulated |= sums[k].simulated;
    }
    return 0;
}

/* ---- within runs ---- */

/* The readings of a unit in a block: of a node those of its GPUs. */
struct cell {
    size_t unit, readings;
    double value[WL_UNITS_QUANTITIES]; /* sums */
    bool estimated;
};

static void add_cell(struct cell *cell, const struct wl_units_reading *r)
{
    cell->readings++;
    cell->value[WL_UNITS_COMPUTE] += r->compute_s;
    cell->value[WL_UNITS_ENERGY_WITHIN] += r->energy_j;
    cell->value[WL_UNITS_CLOCK] += r->clock_mhz;
    cell->value[WL_UNITS_POWER_CAPPED] += r->power_capped_pct;
    cell->value[WL_UNITS_THERMAL_CAPPED] += r->thermal_capped_pct;
    cell->estimated |= r->estimated;
}

static double value_of(const struct cell *cell, int q)
{
    const double v = cell->value[q], n = (double)cell->readings;
    if (q == WL_UNITS_ENERGY_WITHIN) return log(v);
    return q == WL_UNITS_CLOCK || q == WL_UNITS_COMPUTE ? log(v / n) : v / n;
}

/* NULL: the reading is of no such unit. */
static const char *unit_name(const struct collecting *c, const struct wl_units_reading *r)
{
    if (c->kind == WL_UNITS_RANKS) return isnan(r->rank) ? NULL : wl_strf(c->a, "rank %.0f", r->rank);
    return c->kind == WL_UNITS_GPUS ? r->uuid : r->node;
}

/* The cells of the readings [from, to) that have the quantity; they are of one block. */
static size_t cells_of(struct collecting *c, int q, size_t from, size_t to, struct cell *cells)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        const struct wl_units_reading *r = &c->in->readings[i];
        const char *name = (q == WL_UNITS_COMPUTE) == !isnan(r->compute_s) ? unit_name(c, r) : NULL;
        if (!name || r->unused) continue;
        const size_t unit = wl_numbering_of(&c->out->units, name);
        size_t k = 0;
        while (k < n && cells[k].unit != unit) k++;
        if (k == n) cells[n++] = (struct cell) { .unit = unit };
        add_cell(&cells[k], r);
    }
    return n;
}

static bool is_block(const struct wl_units_reading *x, const struct wl_units_reading *y)
{
    return wl_str_eq(x->run, y->run) && (x->epoch == y->epoch || (isnan(x->epoch) && isnan(y->epoch)));
}

/* Of whole runs, or of epochs; a block with one unit compares nothing. */
static size_t add_blocks(struct collecting *c, int q, bool epochs)
{
    struct wl_units_rows *r = &c->out->rows[q];
    struct cell *cells = wl_new_array(c->a, struct cell, c->in->n);
    size_t blocks = 0;
    for (size_t i = 0, end; i < c->in->n; i = end) {
        const struct wl_units_reading *first = &c->in->readings[i];
        for (end = i + 1; end < c->in->n && is_block(first, &c->in->readings[end]);) end++;
        if (isnan(first->epoch) == epochs || c->run[i] >= c->observed) continue;
        if (epochs && first->epoch <= (double)c->in->drop_epochs) continue;
        const size_t n = cells_of(c, q, i, end, cells);
        size_t with = 0;
        for (size_t k = 0; k < n; k++) with += isfinite(value_of(&cells[k], q));
        if (with < 2) continue;
        blocks++;
        for (size_t k = 0; k < n; k++) {
            add_member(r, cells[k].unit, c->a);
            add_row(r, value_of(&cells[k], q), wl_strf(c->a, "%s %g", first->run, first->epoch), c->a);
            c->out->estimated[q] |= q == WL_UNITS_ENERGY_WITHIN && cells[k].estimated;
        }
    }
    return blocks;
}

/* Runs are independent of each other, epochs of a run hardly: these only where there is one run. */
static void add_within(struct collecting *c, int q)
{
    struct wl_units_rows *r = &c->out->rows[q];
    if (add_blocks(c, q, false) >= 2) return;
    r->n = r->members = r->blocks.n = 0;
    r->blocks = wl_numbering_new(c->in->n + 1, c->a);
    c->out->of_epochs[q] = true;
    add_blocks(c, q, true);
}

static void number_runs(struct collecting *c)
{
    const struct wl_observations *obs = c->in->obs;
    c->runs = wl_numbering_new(obs->n + c->in->n + 1, c->a);
    for (size_t i = 0; i < obs->n; i++)
        if (obs->run[i]) wl_numbering_of(&c->runs, obs->run[i]);
    c->observed = c->runs.n;
    c->run = wl_new_array(c->a, size_t, c->in->n);
    c->first = wl_new_array(c->a, size_t, obs->n + c->in->n + 1);
    for (size_t i = c->in->n; i > 0; i--) {
        c->run[i - 1] = wl_numbering_of(&c->runs, c->in->readings[i - 1].run);
        c->first[c->run[i - 1]] = i;
    }
}

/* As many units as there can be. */
static size_t most_units(const struct wl_units_input *in, enum wl_units_kind kind, struct wl_arena *a)
{
    struct wl_obs_column column;
    struct wl_err none;
    size_t most = in->n + 1;
    if (!columns[kind] || wl_obs_find(in->obs, columns[kind], &column, &none) < 0) return most;
    for (size_t i = 0; i < in->obs->n; i++)
        for (const char *p = wl_obs_text(&column, i, a); p && *p; p = strchr(p + 1, ',')) most++;
    return most;
}

static size_t unused(const struct wl_units_input *in)
{
    size_t n = 0;
    for (size_t i = 0; i < in->n; i++) n += in->readings[i].unused;
    return n;
}

static bool any_computes(const struct wl_units_input *in)
{
    for (size_t i = 0; i < in->n; i++)
        if (!isnan(in->readings[i].compute_s)) return true;
    return false;
}

int wl_units_collect(const struct wl_units_input *in, enum wl_units_kind kind, struct wl_units_collection *out,
                     struct wl_arena *a, struct wl_err *e)
{
    if (kind == WL_UNITS_GPUS && !in->n)
        return wl_fail(e, WL_EUNAVAIL, "%s has no readings of GPUs: gpu is a factor of stores whose runs measured them",
                       in->obs->source);
    if (kind == WL_UNITS_GPUS && unused(in) == in->n)
        return wl_fail(e, WL_EUNAVAIL, "%s: no run used a GPU: there is nothing to compare", in->obs->source);
    if (kind == WL_UNITS_RANKS && !any_computes(in))
        return wl_fail(e, WL_EUNAVAIL,
                       "%s: no rank said how long it computed: rank is a factor of stores whose runs have marks 'phase "
                       "name=compute time_s=...' from each rank",
                       in->obs->source);
    *out = (struct wl_units_collection) { .units = wl_numbering_new(most_units(in, kind, a), a) };
    for (int q = 0; q < WL_UNITS_QUANTITIES; q++) out->rows[q].blocks = wl_numbering_new(in->obs->runs + in->n + 1, a);
    struct collecting c = { .in = in, .kind = kind, .out = out, .a = a };
    number_runs(&c);
    out->unused = kind == WL_UNITS_GPUS || kind == WL_UNITS_NODES ? unused(in) : 0;
    int rc = kind == WL_UNITS_RANKS ? 0 : add_runs(&c, e);
    for (int q = WL_UNITS_COMPUTE; q < WL_UNITS_QUANTITIES && rc == 0 && kind != WL_UNITS_SWITCHES; q++)
        add_within(&c, q);
    if (kind == WL_UNITS_RANKS)
        out->runs =
            out->of_epochs[WL_UNITS_COMPUTE] ? out->rows[WL_UNITS_COMPUTE].n > 0 : out->rows[WL_UNITS_COMPUTE].blocks.n;
    for (size_t i = 0; i < in->n; i++) out->simulated |= in->readings[i].simulated;
    return rc;
}
