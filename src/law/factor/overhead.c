/* The physical alternative to a changed exponent: one overhead c for all levels, and work at the speed of each,
 * ln t = ln(W(level)/N + c). Slower work with the same overhead raises the exponent by itself. */
#include "law/factor/overhead.h"

#include "law/fit/models.h"

#include <math.h>

/* Means of the worker counts of all compared levels, weighted by their runs: the squares of runs about those means are
 * the same for any curve. */
struct data {
    double *workers, *y, *weight; /* [n] y = mean of ln t; the number of runs */
    size_t *slot;                 /* [n] which W */
    size_t n, levels, runs;
    double squares; /* of runs about their means */
};

/* Runs of a law are in the order of their worker counts. */
static void add_level(struct data *d, const struct wl_law_group *law)
{
    for (size_t c = 0, first = 0; c < law->n_configs; first += law->configs[c++].runs, d->n++) {
        const size_t runs = law->configs[c].runs;
        double mean = 0;
        for (size_t i = first; i < first + runs; i++) mean += law->runs[i].y / (double)runs;
        for (size_t i = first; i < first + runs; i++) d->squares += (law->runs[i].y - mean) * (law->runs[i].y - mean);
        d->workers[d->n] = law->configs[c].workers;
        d->y[d->n] = mean;
        d->weight[d->n] = (double)runs;
        d->slot[d->n] = d->levels;
    }
    d->runs += law->n_runs;
    d->levels++;
}

static struct data data_of(const struct wl_factor_group *g, struct wl_arena *a)
{
    size_t n = 0;
    for (size_t l = 0; l < g->n_levels; l++) n += g->levels[l].law.n_configs;
    struct data d = { wl_new_array(a, double, n), wl_new_array(a, double, n), wl_new_array(a, double, n),
                      wl_new_array(a, size_t, n) };
    for (size_t l = 0; l < g->n_levels; l++)
        if (!g->levels[l].reason) add_level(&d, &g->levels[l].law);
    return d;
}

/* ln W of each level and ln c, and what least squares know there. J'J of the residuals has the shape of an arrow: the
 * diagonal of the levels, and a last row and column of c. So a step takes time in proportion to the points, not to the
 * cube of the levels. */
struct fit {
    double *w, c;            /* [levels] logarithms */
    double sse;              /* of the means */
    double *diagonal, *edge; /* [levels] of J'J: of a level; of it and c */
    double corner;           /* of c */
    double *down, down_c;    /* [levels] -J'r */
};

static struct fit new_fit(size_t levels, struct wl_arena *a)
{
    return (struct fit) { .w = wl_new_array(a, double, levels),
                          .diagonal = wl_new_array(a, double, levels),
                          .edge = wl_new_array(a, double, levels),
                          .down = wl_new_array(a, double, levels) };
}

static void evaluate(struct fit *f, const struct data *d)
{
    const double c = exp(f->c);
    f->sse = f->corner = f->down_c = 0;
    for (size_t l = 0; l < d->levels; l++) f->diagonal[l] = f->edge[l] = f->down[l] = 0;
    for (size_t i = 0; i < d->n; i++) {
        const size_t l = d->slot[i];
        const double work = exp(f->w[l]) / d->workers[i], t = work + c, r = log(t) - d->y[i], weight = d->weight[i];
        f->sse += weight * r * r;
        f->diagonal[l] += weight * (work / t) * (work / t);
        f->edge[l] += weight * (work / t) * (c / t);
        f->corner += weight * (c / t) * (c / t);
        f->down[l] -= weight * r * work / t;
        f->down_c -= weight * r * c / t;
    }
}

/* What is left of the corner once the levels are eliminated; `damping` enlarges the diagonal (Marquardt 1963). */
static double corner_without_levels(const struct fit *f, const struct data *d, double damping)
{
    double rest = f->corner * (1 + damping);
    for (size_t l = 0; l < d->levels; l++) rest -= f->edge[l] * f->edge[l] / (f->diagonal[l] * (1 + damping));
    return rest;
}

/* false: there is no such step. *size: the largest change of a logarithm. */
static bool step(const struct fit *from, struct fit *to, const struct data *d, double damping, double *size)
{
    static const double LARGEST = 3; /* a factor of 20 */
    double rest = corner_without_levels(from, d, damping), down = from->down_c;
    for (size_t l = 0; l < d->levels; l++) down -= from->edge[l] * from->down[l] / (from->diagonal[l] * (1 + damping));
    if (!(rest > 0)) return false;
    const double c = fmax(-LARGEST, fmin(LARGEST, down / rest));
    *size = fabs(c);
    to->c = from->c + c;
    for (size_t l = 0; l < d->levels; l++) {
        const double w = (from->down[l] - from->edge[l] * c) / (from->diagonal[l] * (1 + damping));
        to->w[l] = from->w[l] + fmax(-LARGEST, fmin(LARGEST, w));
        *size = fmax(*size, fabs(to->w[l] - from->w[l]));
    }
    evaluate(to, d);
    return true;
}

/* Levenberg-Marquardt from the values in *f, to steps at the limit of rounding. */
static void descend(struct fit *f, struct fit *next, const struct data *d)
{
    enum { STEPS = 500 };
    static const double SMALL = 1e-11, SMALLEST_DAMPING = 1e-12, LARGEST_DAMPING = 1e12;
    double damping = 1e-3, size;
    evaluate(f, d);
    for (int i = 0; i < STEPS && damping < LARGEST_DAMPING; i++) {
        if (!step(f, next, d, damping, &size) || !(next->sse <= f->sse)) {
            damping *= 10;
            continue;
        }
        const struct fit before = *f;
        *f = *next;
        *next = before;
        damping = fmax(damping / 10, SMALLEST_DAMPING);
        if (size < SMALL) return;
    }
}

/* Starts from shares of the first time of each level that do not scale. */
static bool fit_best(struct fit *best, const struct data *d, struct wl_arena *a)
{
    static const double shares[] = { 0.3, 0.1, 0.03, 0.01, 0.003 };
    bool found = false;
    for (size_t s = 0; s < WL_COUNT(shares); s++) {
        struct fit f = new_fit(d->levels, a), next = new_fit(d->levels, a);
        double min_y = INFINITY;
        for (size_t i = d->n; i-- > 0;) { /* the smallest worker count of each level is its first and stays */
            f.w[d->slot[i]] = d->y[i] + log(d->workers[i] * (1 - shares[s]));
            min_y = fmin(min_y, d->y[i]);
        }
        f.c = min_y + log(shares[s]);
        descend(&f, &next, d);
        if (!isfinite(f.sse)) continue;
        if (!found || f.sse < best->sse) *best = f;
        found = true;
    }
    return found;
}

/* Is c below 1e-4 of the time at every point? Then the curve is W/N, and c an artefact. */
static bool is_negligible(const struct data *d, double c)
{
    for (size_t i = 0; i < d->n; i++)
        if (c > 1e-4 * exp(d->y[i])) return false;
    return true;
}

static const char *unsuitable_reason(const struct wl_factor_group *g, enum wl_law_response response)
{
    if (response != WL_LAW_TIME) return "W/N + c describes time, not energy";
    if (g->scaling == WL_SCALING_WEAK || g->scaling == WL_SCALING_MIXED)
        return "W/N + c needs the same work at every worker count";
    return NULL;
}

static void describe(struct wl_factor_overhead *out, const struct wl_factor_group *g, const struct data *d,
                     const struct fit *f)
{
    const double sse = f->sse + d->squares, df = (double)d->runs - (double)d->levels - 1, sigma = sqrt(sse / df),
                 rest = corner_without_levels(f, d, 0);
    for (size_t l = 0, slot = 0; l < g->n_levels; l++) {
        if (g->levels[l].reason) continue;
        const double along_c = f->edge[slot] / f->diagonal[slot];
        out->w[l] = exp(f->w[slot]);
        out->w_se[l] = out->w[l] * sigma * sqrt(1 / f->diagonal[slot] + along_c * along_c / rest);
        slot++;
    }
    out->c = exp(f->c);
    out->c_se = out->c * sigma / sqrt(rest);
    out->sse = sse;
    out->aicc = wl_law_aicc(sse, (double)d->runs, (double)d->levels + 1);
    if (is_negligible(d, out->c)) out->reason = "c is 0 within rounding: time is work divided by workers";
}

void wl_factor_fit_overhead(struct wl_factor_group *g, enum wl_law_response response, struct wl_arena *a)
{
    struct wl_factor_overhead *out = &g->overhead;
    *out = (struct wl_factor_overhead) { .c = NAN, .c_se = NAN, .sse = NAN, .aicc = NAN };
    out->w = wl_new_array(a, double, g->n_levels);
    out->w_se = wl_new_array(a, double, g->n_levels);
    for (size_t l = 0; l < g->n_levels; l++) out->w[l] = out->w_se[l] = NAN;
    if ((out->reason = unsuitable_reason(g, response))) return;
    struct wl_arena *scratch = wl_arena_new(a);
    const struct data d = data_of(g, scratch);
    struct fit fit;
    if (d.runs <= d.levels + 1)
        out->reason = "more parameters than runs";
    else if (!fit_best(&fit, &d, scratch))
        out->reason = "the fit does not converge from any start";
    else
        describe(out, g, &d, &fit);
    wl_arena_free(scratch);
}
