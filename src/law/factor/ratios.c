#include "law/factor/ratios.h"

#include <math.h>

/* Two one-sided tests: the larger p that |ln ratio| is beyond the margin. */
static double p_same(const struct wl_law_ratio *r, double margin)
{
    const double bound = log1p(margin);
    return fmax(wl_t_sf((r->ln + bound) / r->se, r->df), wl_t_cdf((r->ln - bound) / r->se, r->df));
}

static struct wl_factor_quantity quantity(const struct wl_law_ratio *r, double margin)
{
    return (struct wl_factor_quantity) { wl_law_ratio_estimate(r), wl_law_ratio_of_configurations(r),
                                         p_same(r, margin) };
}

static const struct wl_law_config *config_at(const struct wl_law_group *law, double workers)
{
    for (size_t i = 0; i < law->n_configs; i++)
        if (law->configs[i].workers == workers) return &law->configs[i];
    return NULL;
}

/* The level that others are compared with there: the base, or if it was not measured there, none. */
static void add_cell(struct wl_factor_group *g, size_t l, const struct wl_law_config *c, double margin,
                     struct wl_arena *a)
{
    const struct wl_law_group *base = &g->levels[g->base].law;
    if (!config_at(base, c->workers)) return;
    struct wl_law_tradeoff t = wl_law_tradeoff(&g->levels[l].law, base, c->workers, a);
    if (l == g->base) t.time.se = t.energy.se = t.power.se = t.edp.se = NAN; /* a ratio to itself */
    g->cells[g->n_cells++] = (struct wl_factor_cell) { .level = l,
                                                       .workers = c->workers,
                                                       .runs = c->runs,
                                                       .time_s = c->time_s,
                                                       .energy_j = c->energy_j,
                                                       .time = quantity(&t.time, margin),
                                                       .energy = quantity(&t.energy, margin),
                                                       .power = quantity(&t.power, margin),
                                                       .edp = quantity(&t.edp, margin) };
}

/* No other level of the same worker count is as good in both time and energy and better in one. */
static bool is_pareto(const struct wl_factor_group *g, const struct wl_factor_cell *c)
{
    if (isnan(c->time.ratio.value) || isnan(c->energy.ratio.value)) return false;
    for (size_t i = 0; i < g->n_cells; i++) {
        const struct wl_factor_cell *o = &g->cells[i];
        if (o == c || o->workers != c->workers) continue;
        const double time = o->time.ratio.value, energy = o->energy.ratio.value;
        if (time <= c->time.ratio.value && energy <= c->energy.ratio.value &&
            (time < c->time.ratio.value || energy < c->energy.ratio.value))
            return false;
    }
    return true;
}

void wl_factor_fill_cells(struct wl_factor_group *g, double margin, struct wl_arena *a)
{
    size_t n = 0;
    if (g->n_levels < 2) return;
    for (size_t l = 0; l < g->n_levels; l++) n += g->levels[l].law.n_configs;
    g->cells = wl_new_array(a, struct wl_factor_cell, n);
    for (size_t l = 0; l < g->n_levels; l++)
        for (size_t i = 0; i < g->levels[l].law.n_configs; i++) add_cell(g, l, &g->levels[l].law.configs[i], margin, a);
    for (size_t i = 0; i < g->n_cells; i++) g->cells[i].pareto = is_pareto(g, &g->cells[i]);
}
