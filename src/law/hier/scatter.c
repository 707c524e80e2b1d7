#include "law/hier/scatter.h"

#include "law/hier/combine.h"
#include "law/hier/reduce.h"

#include <math.h>

enum { SIGMA_SCAN = 400 };
static const double sigma_lo = 2e-4, sigma_hi = 3;       /* of the scan */
static const double sigma_depth = 6, scatter_depth = 14; /* nodes this far below the best, in ln, are left out */

/* Half-Cauchy prior of s as a density of ln s, up to a constant. */
static double ln_half_cauchy(double s, double scale)
{
    double ratio = s / scale;
    return log(s) - log1p(ratio * ratio) - log(scale);
}

static double between(double lo, double hi, size_t i, size_t n)
{
    return n == 1 ? (lo + hi) / 2 : lo + (hi - lo) * (double)i / (double)(n - 1);
}

struct sigma_nodes {
    double *sigma, *ln_prior; /* [n]; ln_prior: with the likelihood within configurations */
    double *y, *variance;     /* [n][m] */
};

static double sigma_density(const struct wl_hier_data *d, const struct wl_hier_prior *p, double sigma, double *y,
                            double *variance)
{
    return ln_half_cauchy(sigma, p->sigma) + wl_hier_within(d, sigma, y, variance);
}

/* Nodes where prior times likelihood within configurations is near its top. */
static struct sigma_nodes find_sigmas(const struct wl_hier_data *d, const struct wl_hier_prior *p, struct wl_arena *a)
{
    const size_t n = p->sigma_nodes, m = d->n_configs;
    struct sigma_nodes s = { wl_new_array(a, double, n), wl_new_array(a, double, n), wl_new_array(a, double, n *m),
                             wl_new_array(a, double, n *m) };
    double density[SIGMA_SCAN], best = -INFINITY, lo = log(sigma_lo), hi = log(sigma_hi);
    for (size_t i = 0; i < SIGMA_SCAN; i++) {
        density[i] = sigma_density(d, p, exp(between(lo, hi, i, SIGMA_SCAN)), s.y, s.variance);
        best = fmax(best, density[i]);
    }
    size_t first = 0, last = SIGMA_SCAN - 1;
    while (density[first] <= best - sigma_depth) first++;
    while (density[last] <= best - sigma_depth) last--;
    const double from = between(lo, hi, first, SIGMA_SCAN), to = between(lo, hi, last, SIGMA_SCAN);
    for (size_t i = 0; i < n; i++) {
        s.sigma[i] = exp(between(from, to, i, n));
        s.ln_prior[i] = sigma_density(d, p, s.sigma[i], s.y + i * m, s.variance + i * m);
    }
    return s;
}

static void allocate(struct wl_hier_scatter *v, size_t n, size_t m, struct wl_arena *a)
{
    v->m = m;
    v->tau2 = wl_new_array(a, double, n);
    v->sigma2 = wl_new_array(a, double, n);
    v->ln_prior = wl_new_array(a, double, n);
    v->ones2 = wl_new_array(a, double, n);
    v->y = wl_new_array(a, double, n *m);
    v->gain = wl_new_array(a, double, n *m);
    v->r = wl_new_array(a, double, n *m);
    v->ones = wl_new_array(a, double, n *m);
    v->ones_v = wl_new_array(a, double, n *m);
}

/* L^-1 k at node q. k: [m]; out: [m][n]. */
static void solve_forward(const struct wl_hier_scatter *v, size_t q, const double *k, double *out)
{
    double state = 0;
    for (size_t i = 0; i < v->m; i++) {
        const size_t at = i * v->n + q;
        const double innovation = k[i] - state;
        out[at] = innovation * v->r[at];
        state += v->gain[at] * innovation;
    }
}

/* V^-1 k = L^-T L^-1 k at node q by the filter's adjoint, which runs backwards. v_k: L^-1 k [m][n], replaced. */
static void solve_back(const struct wl_hier_scatter *v, size_t q, double *v_k)
{
    double adjoint = 0;
    for (size_t i = v->m; i-- > 0;) {
        const size_t at = i * v->n + q;
        v_k[at] = v->r[at] * v_k[at] + v->gain[at] * adjoint;
        adjoint -= v_k[at];
    }
}

/* The filter at node q: gains and scales, |V|, and the filtered ones. variance: [m] of the means of configurations. */
static void make_filter(struct wl_hier_scatter *v, size_t q, const double *variance)
{
    double walk = 0, at = 0, state = 0, ln_det = 0, ones2 = 0;
    for (size_t i = 0; i < v->m; i++) {
        walk += v->drift * v->tau2[q] * (v->x[i] - at);
        at = v->x[i];
        const double s = walk + v->tau2[q] + variance[i], gain = walk / s, r = 1 / sqrt(s);
        const double one = (1 - state) * r;
        state += gain * (1 - state);
        walk -= gain * walk;
        ln_det += log(s);
        ones2 += one * one;
        v->gain[i * v->n + q] = gain;
        v->r[i * v->n + q] = r;
        v->ones[i * v->n + q] = v->ones_v[i * v->n + q] = one;
    }
    solve_back(v, q, v->ones_v);
    v->ones2[q] = ones2;
    v->ln_prior[q] -= 0.5 * (ln_det + log(ones2));
}

struct pair {
    size_t tau, sigma;
};

/* Pairs of nodes whose prior (with the likelihood within configurations) is near the best. */
static size_t choose_pairs(const struct sigma_nodes *s, const double *tau_prior, const struct wl_hier_prior *p,
                           struct pair *out)
{
    double best = -INFINITY;
    size_t n = 0;
    for (size_t t = 0; t < p->tau_nodes; t++)
        for (size_t k = 0; k < p->sigma_nodes; k++) best = fmax(best, tau_prior[t] + s->ln_prior[k]);
    for (size_t t = 0; t < p->tau_nodes; t++)
        for (size_t k = 0; k < p->sigma_nodes; k++)
            if (tau_prior[t] + s->ln_prior[k] > best - scatter_depth) out[n++] = (struct pair) { t, k };
    return n;
}

static const double *doublings(const struct wl_hier_data *d, struct wl_arena *a)
{
    double *x = wl_new_array(a, double, d->n_configs);
    for (size_t i = 0; i < d->n_configs; i++) x[i] = log2(d->workers[i]) - log2(d->workers[0]);
    return x;
}

enum { LANES = 16, MOST_BY_CONTRASTS = 14 };

/* V^-1 - V^-1 1 1'V^-1 / 1'V^-1 1 has row sums of 0: D may be taken from its last element. */
static void make_contrasts(struct wl_hier_scatter *v, struct wl_arena *a)
{
    const size_t n = v->n, m = v->m;
    struct wl_arena *scratch = wl_arena_new(a);
    double *column = wl_new_array(scratch, double, n *m), *unit = wl_new_array(scratch, double, m), *to;
    to = v->contrasts = wl_new_array(a, double, n *m *(m - 1) / 2);
    for (size_t i = 0; i + 1 < m; i++) {
        unit[i] = 1;
        for (size_t q = 0; q < n; q++) {
            solve_forward(v, q, unit, column);
            solve_back(v, q, column);
            for (size_t j = i; j + 1 < m; j++) {
                const double c = column[j * n + q] - v->ones_v[i * n + q] * v->ones_v[j * n + q] / v->ones2[q];
                to[(j - i) * n + q] = i == j ? c : 2 * c;
            }
        }
        unit[i] = 0;
        to += (m - 1 - i) * n;
    }
    wl_arena_free(scratch);
}

/* Do the means of configurations depend on sigma by more than rounding? */
static bool means_differ(const struct wl_hier_scatter *v)
{
    for (size_t i = 0; i < v->m; i++)
        for (size_t q = 1; q < v->n; q++)
            if (fabs(v->y[i * v->n + q] - v->y[i * v->n]) > 1e-13 * fabs(v->y[i * v->n])) return true;
    return false;
}

void wl_hier_scatter_nodes(const struct wl_hier_data *d, const struct wl_hier_prior *p, struct wl_hier_scatter *out,
                           struct wl_arena *a)
{
    const size_t m = d->n_configs;
    const struct sigma_nodes s = find_sigmas(d, p, a);
    double *tau = wl_new_array(a, double, p->tau_nodes), *tau_prior = wl_new_array(a, double, p->tau_nodes);
    for (size_t t = 0; t < p->tau_nodes; t++) {
        tau[t] = exp(between(log(p->tau_min), log(p->tau_max), t, p->tau_nodes));
        tau_prior[t] = ln_half_cauchy(tau[t], p->tau);
    }
    struct pair *pairs = wl_new_array(a, struct pair, p->tau_nodes * p->sigma_nodes);
    *out = (struct wl_hier_scatter) { .x = doublings(d, a), .drift = p->drift };
    out->n = choose_pairs(&s, tau_prior, p, pairs);
    allocate(out, out->n, m, a);
    for (size_t q = 0; q < out->n; q++) {
        const size_t t = pairs[q].tau, k = pairs[q].sigma;
        out->tau2[q] = tau[t] * tau[t];
        out->sigma2[q] = s.sigma[k] * s.sigma[k] + d->epoch_variance / d->typical_epochs;
        out->ln_prior[q] = tau_prior[t] + s.ln_prior[k];
        for (size_t i = 0; i < m; i++) out->y[i * out->n + q] = s.y[k * m + i];
        make_filter(out, q, s.variance + k * m);
    }
    if (m <= MOST_BY_CONTRASTS && !means_differ(out)) make_contrasts(out, a);
}

static size_t compact(double *v, const bool *keep, size_t n, size_t rows)
{
    size_t kept = 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t q = 0; q < n; q++)
            if (keep[q]) v[kept++] = v[i * n + q];
    return kept / rows;
}

void wl_hier_scatter_keep(struct wl_hier_scatter *v, const bool *keep)
{
    double *const per_node[] = { v->tau2, v->sigma2, v->ln_prior, v->ones2 }, *const per_config[] = { v->y, v->gain,
                                                                                                      v->r, v->ones,
                                                                                                      v->ones_v };
    size_t kept = 0;
    for (size_t i = 0; i < WL_COUNT(per_node); i++) kept = compact(per_node[i], keep, v->n, 1);
    for (size_t i = 0; i < WL_COUNT(per_config); i++) compact(per_config[i], keep, v->n, v->m);
    if (v->contrasts) compact(v->contrasts, keep, v->n, v->m * (v->m - 1) / 2);
    v->n = kept;
}

/* ---- by contrasts ---- */

static void residual_by_contrasts(const struct wl_hier_scatter *v, const double *s, double *quadratic)
{
    double pairs[MOST_BY_CONTRASTS * (MOST_BY_CONTRASTS - 1) / 2], d[MOST_BY_CONTRASTS];
    const size_t last = v->m - 1;
    size_t n_pairs = 0;
    for (size_t i = 0; i < last; i++) d[i] = v->y[i * v->n] - s[i] - (v->y[last * v->n] - s[last]);
    for (size_t i = 0; i < last; i++)
        for (size_t j = i; j < last; j++) pairs[n_pairs++] = d[i] * d[j];
    for (size_t q = 0; q < v->n; q++) quadratic[q] = 0;
    wl_hier_combine(v->contrasts, pairs, n_pairs, v->n, quadratic);
}

/* ---- by the filter ---- */

/* The filter over `k` nodes from `from` on. Inlined with k = LANES, the inner loop has a fixed length and the compiler
 * vectorizes it. */
static inline __attribute__((always_inline)) void filter(const struct wl_hier_scatter *v, const double *s, size_t from,
                                                         size_t k, double *squares, double *along)
{
    double state[LANES] = { 0 };
    for (size_t i = 0; i < v->m; i++) {
        const double *y = v->y + i * v->n + from, *gain = v->gain + i * v->n + from, *r = v->r + i * v->n + from,
                     *one = v->ones + i * v->n + from;
        for (size_t q = 0; q < k; q++) {
            const double innovation = y[q] - s[i] - state[q], e = innovation * r[q];
            state[q] += gain[q] * innovation;
            squares[q] += e * e;
            along[q] += e * one[q];
        }
    }
}

void wl_hier_scatter_residual(const struct wl_hier_scatter *v, const double *s, double *quadratic)
{
    if (v->contrasts) {
        residual_by_contrasts(v, s, quadratic);
        return;
    }
    for (size_t from = 0; from < v->n; from += LANES) {
        const size_t k = v->n - from < LANES ? v->n - from : LANES;
        double squares[LANES] = { 0 }, along[LANES] = { 0 };
        if (k == LANES)
            filter(v, s, from, LANES, squares, along);
        else
            filter(v, s, from, k, squares, along);
        for (size_t q = 0; q < k; q++) {
            quadratic[from + q] = squares[q] - along[q] * along[q] / v->ones2[from + q];
        }
    }
}

static void solve(const struct wl_hier_scatter *v, size_t q, const double *k, struct wl_hier_covariance *out)
{
    solve_forward(v, q, k, out->k_v);
    for (size_t i = 0; i < v->m; i++) {
        const double e = out->k_v[i * v->n + q];
        out->ones_k[q] += e * v->ones[i * v->n + q];
        out->k_k[q] += e * e;
    }
    solve_back(v, q, out->k_v);
}

struct wl_hier_covariance wl_hier_scatter_covariance(const struct wl_hier_scatter *v, double x, struct wl_arena *a)
{
    struct wl_hier_covariance c = { wl_new_array(a, double, v->n * v->m), wl_new_array(a, double, v->n),
                                    wl_new_array(a, double, v->n), v->drift * fabs(x) };
    double *k = wl_new_array(a, double, v->m);
    for (size_t q = 0; q < v->n; q++) {
        for (size_t i = 0; i < v->m; i++) k[i] = v->drift * v->tau2[q] * fmax(0, fmin(v->x[i], x));
        solve(v, q, k, &c);
    }
    return c;
}
