#include "law/factor/same_work.h"

#include "law/fit/runs.h"

#include <math.h>

/* The runs of all levels whose samples are known; *unknown: the number of the others. */
static struct wl_law_run *known_runs(const struct wl_factor_group *g, size_t *n, size_t *unknown, struct wl_arena *a)
{
    size_t all = 0;
    for (size_t l = 0; l < g->n_levels; l++) all += g->levels[l].law.n_runs;
    struct wl_law_run *out = wl_new_array(a, struct wl_law_run, all);
    *n = 0;
    for (size_t l = 0; l < g->n_levels; l++)
        for (size_t i = 0; i < g->levels[l].law.n_runs; i++)
            if (g->levels[l].law.runs[i].samples > 0) out[(*n)++] = g->levels[l].law.runs[i];
    *unknown = all - *n;
    return out;
}

/* Is the work in proportion to the workers at each level that has several worker counts? */
static bool is_weak(const struct wl_factor_group *g)
{
    bool any = false;
    for (size_t l = 0; l < g->n_levels; l++) {
        const struct wl_law_group *law = &g->levels[l].law;
        if (!law->n_runs || law->runs[0].workers == law->runs[law->n_runs - 1].workers) continue;
        if (law->scaling != WL_SCALING_WEAK) return false;
        any = true;
    }
    return any;
}

static void scale_runs(struct wl_factor_group *g, double samples, bool per_worker)
{
    for (size_t l = 0; l < g->n_levels; l++)
        for (size_t i = 0; i < g->levels[l].law.n_runs; i++) {
            struct wl_law_run *run = &g->levels[l].law.runs[i];
            run->y -= log(run->samples / (per_worker ? samples * run->workers : samples));
        }
}

void wl_factor_make_work_equal(struct wl_factor_group *g, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    size_t n, unknown;
    const struct wl_law_run *known = known_runs(g, &n, &unknown, scratch);
    const bool differs = wl_law_scaling_of(known, n) == WL_SCALING_MIXED;
    g->work = (struct wl_factor_work) { .samples = NAN };
    if (unknown && differs) {
        g->work.refusal = wl_strf(a,
                                  "the work of %s differs, and samples are not recorded in every run: times and "
                                  "energies are not comparable",
                                  g->rows_name);
    } else if (!unknown && n) {
        const bool per_worker = is_weak(g);
        const double samples = per_worker ? known[0].samples / known[0].workers : known[0].samples;
        scale_runs(g, samples, per_worker);
        if (differs) {
            g->work.samples = samples;
            g->work.per_worker = per_worker;
            wl_strs_addf(a, &g->notes,
                         "the work of %s differs: levels are compared per sample, as %s of %.6g samples%s",
                         g->rows_name, g->rows_name, samples, per_worker ? " per worker" : "");
        }
    }
    wl_arena_free(scratch);
}
