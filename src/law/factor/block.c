#include "law/factor/block.h"

#include "law/factor/ancova.h"
#include "law/fit/diagnostics.h"

#include <math.h>
#include <stdlib.h>

/* The design: cells of compared levels at worker counts that at least two of them have. */
struct design {
    const struct wl_factor_group *g;
    double *workers; /* [n_blocks], ascending */
    size_t n_blocks;
    size_t *level, *block; /* [n] */
    double *y, *x;         /* [n] ln(response); ln N less its mean over cells */
    size_t n;
    size_t *column; /* [levels] the number of a compared level among these */
    struct wl_arena *arena;
};

static int ascending(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

/* Worker counts of at least two compared levels. */
static void find_blocks(struct design *d)
{
    const struct wl_factor_group *g = d->g;
    size_t n = 0, kept = 0;
    for (size_t l = 0; l < g->n_levels; l++) n += g->levels[l].law.n_configs;
    double *all = wl_new_array(d->arena, double, n);
    n = 0;
    for (size_t l = 0; l < g->n_levels; l++)
        for (size_t i = 0; !g->levels[l].reason && i < g->levels[l].law.n_configs; i++)
            all[n++] = g->levels[l].law.configs[i].workers;
    qsort(all, n, sizeof *all, ascending);
    for (size_t i = 1; i < n; i++)
        if (all[i] == all[i - 1] && (kept == 0 || all[kept - 1] != all[i])) all[kept++] = all[i];
    d->workers = all;
    d->n_blocks = kept;
}

static void collect_cells(struct design *d)
{
    const struct wl_factor_group *g = d->g;
    const size_t most = g->n_levels * d->n_blocks;
    double mean = 0;
    d->level = wl_new_array(d->arena, size_t, most);
    d->block = wl_new_array(d->arena, size_t, most);
    d->y = wl_new_array(d->arena, double, most);
    d->x = wl_new_array(d->arena, double, most);
    for (size_t l = 0; l < g->n_levels; l++)
        for (size_t i = 0; !g->levels[l].reason && i < g->levels[l].law.n_configs; i++) {
            const struct wl_law_config *c = &g->levels[l].law.configs[i];
            const double *at = bsearch(&c->workers, d->workers, d->n_blocks, sizeof *d->workers, ascending);
            if (!at) continue;
            d->level[d->n] = l;
            d->block[d->n] = (size_t)(at - d->workers);
            d->x[d->n] = log(c->workers);
            d->y[d->n++] = log(c->response);
        }
    for (size_t i = 0; i < d->n; i++) mean += d->x[i] / (double)d->n;
    for (size_t i = 0; i < d->n; i++) d->x[i] -= mean;
    d->column = wl_new_array(d->arena, size_t, g->n_levels);
    for (size_t l = 0, next = 0; l < g->n_levels; l++)
        if (!g->levels[l].reason) d->column[l] = next++;
}

/* Effects of the levels, and with `slopes` their lines along x, besides those of the blocks but the first. WL_EINVAL:
 * the levels share too few blocks. The slopes' mean is one of the effects of blocks. */
static int fit(const struct design *d, bool slopes, struct wl_grouped *out, struct wl_err *e)
{
    const size_t common = d->n_blocks - 1;
    double *z = wl_new_array(d->arena, double, d->n *common);
    size_t *group = wl_new_array(d->arena, size_t, d->n);
    for (size_t i = 0; i < d->n; i++) {
        group[i] = d->column[d->level[i]];
        if (d->block[i]) z[i + (d->block[i] - 1) * d->n] = 1;
    }
    int rc = wl_grouped_fit(out,
                            &(struct wl_grouped_data) { .n = d->n,
                                                        .groups = d->g->compared,
                                                        .common = common,
                                                        .y = d->y,
                                                        .group = group,
                                                        .x = slopes ? d->x : NULL,
                                                        .z = z },
                            d->arena, e);
    if (rc || out->rank >= (double)common - slopes) return rc;
    return wl_fail(e, WL_EINVAL,
                   "the levels share too few worker counts to tell their effects from those of worker counts");
}

/* Difference of beta = -(slope of b - slope of a); half: t of its interval. */
static struct wl_factor_pair pair_of(const struct design *d, const struct wl_grouped *o, size_t a, size_t b,
                                     double margin, double half)
{
    const size_t i = d->column[a], k = d->column[b];
    struct wl_factor_pair p = { .a = a,
                                .b = b,
                                .df = o->df,
                                .difference = o->slope[i] - o->slope[k],
                                .se = o->sigma * sqrt(wl_grouped_variance(o, i, k)) };
    p.lo = p.difference - half * p.se;
    p.hi = p.difference + half * p.se;
    p.t = p.difference / p.se;
    p.p = wl_t_two_sided(p.t, p.df);
    p.p_same = fmax(wl_t_sf((p.difference + margin) / p.se, p.df), wl_t_cdf((p.difference - margin) / p.se, p.df));
    return p;
}

static void fill_pairs(struct wl_factor_tests *out, const struct design *d, const struct wl_grouped *o, double margin,
                       struct wl_arena *a)
{
    const struct wl_factor_group *g = d->g;
    const double half = wl_t_quantile(0.5 + WL_LAW_CONFIDENCE / 2, o->df);
    const size_t most = g->compared * (g->compared - 1) / 2;
    out->pairs = wl_new_array(a, struct wl_factor_pair, most);
    for (size_t i = 0; i < g->n_levels; i++)
        for (size_t j = i + 1; j < g->n_levels; j++) {
            if (g->levels[i].reason || g->levels[j].reason) continue;
            out->pairs[out->n_pairs++] = pair_of(d, o, i, j, margin, half);
        }
    wl_factor_adjust_pairs(out, g->compared, a);
}

static void fill_offsets(struct wl_factor_tests *out, const struct design *d, const struct wl_grouped *parallel)
{
    const size_t base = d->column[d->g->base];
    for (size_t l = 0; l < d->g->n_levels; l++) {
        if (d->g->levels[l].reason) continue;
        const size_t i = d->column[l];
        out->offset[l] = parallel->intercept[i] - parallel->intercept[base];
        out->offset_se[l] = l == d->g->base ? 0 : parallel->sigma * sqrt(wl_grouped_variance(parallel, i, base));
    }
    out->beta_df = parallel->df;
}

/* ---- a factor that scales the work under an overhead ---- */

/* Sum of squares of y - curve about their mean. */
static double squares_about(const double *y, const double *curve, size_t n)
{
    double mean = 0, sum = 0;
    for (size_t i = 0; i < n; i++) mean += (y[i] - curve[i]) / (double)n;
    for (size_t i = 0; i < n; i++) sum += (y[i] - curve[i] - mean) * (y[i] - curve[i] - mean);
    return sum;
}

/* Amdahl's law through the blocks, with the share of the overhead at the largest worker count. */
static double squares_about_amdahl(const struct design *d, const double *y, double share, double *curve)
{
    const double largest = d->workers[d->n_blocks - 1];
    for (size_t i = 0; i < d->n_blocks; i++) curve[i] = log((1 - share) * largest / d->workers[i] + share);
    return squares_about(y, curve, d->n_blocks);
}

/* The share by least squares: the best of a grid of its square root, then thirds of the interval around that. */
static double find_overhead(const struct design *d, const double *y, double *curve)
{
    enum { GRID = 64, THIRDS = 60 };
    double best = INFINITY, at = 0;
    for (int i = 0; i <= GRID; i++) {
        const double root = (double)i / GRID, sum = squares_about_amdahl(d, y, root * root, curve);
        if (sum < best) best = sum, at = root;
    }
    double lo = fmax(0, at - 1.0 / GRID), hi = fmin(1, at + 1.0 / GRID);
    for (int i = 0; i < THIRDS; i++) {
        const double a = lo + (hi - lo) / 3, b = hi - (hi - lo) / 3;
        if (squares_about_amdahl(d, y, a * a, curve) < squares_about_amdahl(d, y, b * b, curve))
            hi = b;
        else
            lo = a;
    }
    return (lo + hi) / 2 * ((lo + hi) / 2);
}

static double squares_about_line(const struct design *d, const double *y, struct wl_err *e)
{
    struct wl_ols line;
    double *x = wl_new_array(d->arena, double, d->n_blocks);
    for (size_t i = 0; i < d->n_blocks; i++) x[i] = log(d->workers[i]);
    return wl_ols_line(&line, y, x, d->n_blocks, d->arena, e) ? NAN : line.sse;
}

static const double least_share = 1e-4; /* of overhead or work: below, there is only the other */

/* The levels' coefficients of the work's share of the time instead of ln N. */
static void test_scaled_work(struct wl_factor_scaled_work *out, const struct design *d,
                             const struct wl_grouped *parallel)
{
    struct wl_err e;
    struct wl_grouped scaled;
    struct design along = *d;
    double *y = wl_new_array(d->arena, double, d->n_blocks), *curve = wl_new_array(d->arena, double, d->n_blocks);
    for (size_t i = 1; i < d->n_blocks; i++) y[i] = parallel->c[i - 1];
    const double share = find_overhead(d, y, curve), bent = squares_about_amdahl(d, y, share, curve);
    along.x = wl_new_array(d->arena, double, d->n);
    for (size_t i = 0; i < d->n; i++) {
        const double work = (1 - share) * d->workers[d->n_blocks - 1] / d->workers[d->block[i]];
        along.x[i] = work / (work + share);
    }
    if (!(share > least_share && share < 1 - least_share) || fit(&along, true, &scaled, &e) || !(scaled.df > 0)) return;
    out->overhead = share;
    out->df1 = (double)d->g->compared - 1;
    out->df = scaled.df;
    out->sigma = scaled.sigma;
    out->f = fmax(parallel->sse - scaled.sse, 0) / out->df1 / (scaled.sse / scaled.df);
    out->p = wl_f_sf(out->f, out->df1, out->df);
    out->decides = bent < squares_about_line(d, y, &e);
}

/* ---- the tests ---- */

static const char *counts_text(size_t n, struct wl_arena *a)
{
    return n ? wl_strf(a, "%zu worker count%s", n, n == 1 ? "" : "s") : "no worker count";
}

/* What levels do not share cannot be compared: a common bend would look like a difference between them. */
static int check_overlap(const struct design *d, struct wl_err *e)
{
    const struct wl_factor_group *g = d->g;
    if (d->n_blocks < 3)
        return wl_fail(e, WL_EINVAL, "the levels share %s: parallelism needs three",
                       counts_text(d->n_blocks, d->arena));
    size_t *cells = wl_new_array(d->arena, size_t, g->n_levels);
    for (size_t i = 0; i < d->n; i++) cells[d->level[i]]++;
    for (size_t l = 0; l < g->n_levels; l++)
        if (!g->levels[l].reason && cells[l] < 2)
            return wl_fail(e, WL_EINVAL, "%s shares %s with the other levels: a slope needs two", g->levels[l].value,
                           counts_text(cells[l], d->arena));
    return 0;
}

static int test(struct wl_factor_tests *out, const struct design *d, struct wl_grouped *parallel, double margin,
                struct wl_arena *a, struct wl_err *e)
{
    struct wl_grouped separate;
    int rc = check_overlap(d, e);
    if (rc) return rc;
    rc = fit(d, false, parallel, e);
    if (rc == 0) fill_offsets(out, d, parallel);
    if (rc == 0) rc = fit(d, true, &separate, e);
    if (rc) return rc;
    out->points = d->n;
    out->df = separate.df;
    out->df1 = (double)d->g->compared - 1;
    out->sse_common = parallel->sse;
    out->sse_separate = separate.sse;
    if (!(out->df > 0)) return wl_fail(e, WL_EINVAL, "%zu cells leave no degrees of freedom", d->n);
    out->sigma = sqrt(out->sse_separate / out->df);
    if (!(out->sigma > WL_LAW_ROUNDING))
        return wl_fail(e, WL_EINVAL,
                       "the levels are parallel within rounding error: there is no scatter to test against");
    const double gain = fmax(parallel->sse - separate.sse, 0);
    out->f = gain / out->df1 / (out->sse_separate / out->df);
    out->p = wl_f_sf(out->f, out->df1, out->df);
    out->partial_eta2 = gain / (gain + out->sse_separate);
    fill_pairs(out, d, &separate, margin, a);
    return 0;
}

void wl_factor_blocks(struct wl_factor_group *g, enum wl_law_response response, double margin, struct wl_arena *a)
{
    struct wl_err e;
    struct wl_grouped parallel;
    struct wl_factor_tests *out = &g->over_blocks;
    struct design d = { .g = g, .arena = wl_arena_new(a) };
    *out = wl_factor_no_tests("blocks", g, a);
    g->scaled_work = (struct wl_factor_scaled_work) { NAN, NAN, NAN, NAN, NAN, NAN, false };
    find_blocks(&d);
    collect_cells(&d);
    g->shared_workers = d.n_blocks;
    if (test(out, &d, &parallel, margin, a, &e))
        out->reason = wl_strdup(a, e.msg);
    else if (response == WL_LAW_TIME)
        test_scaled_work(&g->scaled_work, &d, &parallel);
    wl_arena_free(d.arena);
}
