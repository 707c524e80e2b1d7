/* Weights, means and variances of the nodes of (theta, tau, sigma), by the Woodbury identity: settings with equally
 * many runs share one matrix B' B, so that a node costs r^3 whatever the number of settings. */
#include "advise/joint/internal.h"
#include "stats/stats.h"

#include <math.h>
#include <string.h>

enum { TAUS = 8, SIGMAS = 7, FINE = 200 };
static const double thetas[] = { 0.01, 0.03, 0.1 };
static const double least = 0.001, most = 0.3;            /* of tau and of sigma */
static const double tau_scale = 0.02, sigma_scale = 0.03; /* of their half-Cauchy priors */
static const double light = 0.003;                        /* nodes with a smaller share of the largest weight */
static const double within = 3;                           /* of the top of ln sigma's posterior by repeats alone */

/* ---- nodes ---- */

static double ln_half_cauchy(double s, double scale) { return log(s) - log1p((s / scale) * (s / scale)); }

static double geometric(double lo, double hi, size_t i, size_t n)
{
    return exp(log(lo) + (log(hi) - log(lo)) * (double)i / (double)(n - 1));
}

struct sigmas {
    double sd[SIGMAS], ln_weight[SIGMAS];
};

/* Between the ends where the prior times the likelihood of repeats is within 3 of its top. */
static struct sigmas sigmas_of(const struct wl_joint_runs *runs, size_t n)
{
    double fine[FINE], ln[FINE], top = -INFINITY, df = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        if (!runs[i].n) continue;
        df += (double)runs[i].n - 1;
        squares += runs[i].sum_squares;
    }
    const double end =
        df > 0 ? fmax(most, 3 * sqrt(squares / df)) : most; /* repeats that scatter more are taken at their word */
    for (size_t k = 0; k < FINE; k++) {
        fine[k] = geometric(least, end, k, FINE);
        ln[k] = ln_half_cauchy(fine[k], sigma_scale) - df * log(fine[k]) - 0.5 * squares / (fine[k] * fine[k]);
        top = fmax(top, ln[k]);
    }
    size_t first = 0, last = FINE - 1;
    while (ln[first] <= top - within) first++;
    while (ln[last] <= top - within) last--;
    struct sigmas out;
    for (size_t k = 0, at = first + 2 < FINE ? first : FINE - 2; k < SIGMAS; k++) {
        out.sd[k] = first == last ? fine[first] : geometric(fine[first], fine[last], k, SIGMAS);
        while (at + 2 < FINE && fine[at + 1] < out.sd[k]) at++;
        const double share = (out.sd[k] - fine[at]) / (fine[at + 1] - fine[at]);
        out.ln_weight[k] = ln[at] + share * (ln[at + 1] - ln[at]);
    }
    return out;
}

/* ---- what the settings with k runs add up to ---- */

struct batch {
    double runs, settings;
    double *bb; /* [r][r] lower half of sum b b' */
    double *by; /* [r] sum b y */
    double yy;
};
struct batches {
    struct batch *v;
    size_t n, cap;
};

static struct batch *batch_of(struct batches *list, double runs, size_t r, struct wl_arena *a)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].runs == runs) return &list->v[i];
    WL_GROW(a, list->v, list->n, list->cap);
    list->v[list->n] = (struct batch) { runs, 0, wl_new_array(a, double, r *r), wl_new_array(a, double, r), 0 };
    return &list->v[list->n++];
}

static struct batches sums_of(const struct wl_joint_basis *basis, const struct wl_joint_part *p, struct wl_arena *a)
{
    const size_t r = basis->r;
    struct batches list = { 0 };
    for (size_t i = 0; i < basis->n; i++) {
        if (!p->runs[i].n) continue;
        struct batch *s = batch_of(&list, (double)p->runs[i].n, r, a);
        const double *b = basis->b + i * r;
        s->settings++;
        s->yy += p->y[i] * p->y[i];
        for (size_t k = 0; k < r; k++) {
            s->by[k] += b[k] * p->y[i];
            for (size_t q = 0; q <= k; q++) s->bb[k * r + q] += b[k] * b[q];
        }
    }
    return list;
}

/* Fills in v->l and v->coefficients; returns the log likelihood of the means, up to a constant. */
static double solve_node(struct wl_joint_node *v, const struct batches *sums, size_t r)
{
    double quadratic = 0, ln_det = 0;
    memset(v->l, 0, r * r * sizeof *v->l);
    memset(v->coefficients, 0, r * sizeof *v->coefficients);
    for (size_t s = 0; s < sums->n; s++) {
        const struct batch *batch = &sums->v[s];
        const double d = v->tau * v->tau + v->sigma * v->sigma / batch->runs;
        quadratic += batch->yy / d;
        ln_det += batch->settings * log(d);
        for (size_t k = 0; k < r; k++) {
            v->coefficients[k] += v->scale[k] * batch->by[k] / d;
            for (size_t q = 0; q <= k; q++) v->l[k * r + q] += batch->bb[k * r + q] / d;
        }
    }
    for (size_t k = 0; k < r; k++)
        for (size_t q = 0; q <= k; q++) v->l[k * r + q] = v->l[k * r + q] * v->scale[k] * v->scale[q] + (k == q);
    WL_CHECK(wl_cholesky(v->l, r)); /* 1 and a positive semidefinite matrix */
    wl_cholesky_forward(v->l, r, v->coefficients);
    for (size_t k = 0; k < r; k++) {
        quadratic -= v->coefficients[k] * v->coefficients[k];
        ln_det += 2 * log(v->l[k * r + k]);
    }
    return -0.5 * (quadratic + ln_det);
}

static double *weigh(const struct wl_joint *j, const struct wl_joint_data *d, enum wl_joint_response r,
                     const struct batches *sums, const struct sigmas *s, size_t n_thetas, struct wl_arena *a)
{
    const size_t columns = j->basis.r;
    double *ln = wl_new_array(a, double, WL_COUNT(thetas) * TAUS * SIGMAS);
    struct wl_joint_node v = { .scale = wl_new_array(a, double, columns),
                               .l = wl_new_array(a, double, columns *columns),
                               .coefficients = wl_new_array(a, double, columns) };
    for (size_t i = 0; i < n_thetas * TAUS * SIGMAS; i++) {
        v.theta = thetas[i / (TAUS * SIGMAS)];
        v.tau = geometric(least, most, i / SIGMAS % TAUS, TAUS);
        v.sigma = s->sd[i % SIGMAS];
        wl_joint_basis_scale(&j->basis, d, r, v.theta, v.scale);
        ln[i] = solve_node(&v, sums, columns) + ln_half_cauchy(v.tau, tau_scale) + s->ln_weight[i % SIGMAS];
    }
    return ln;
}

/* ---- the posterior of each setting ---- */

double wl_joint_own_share(const struct wl_joint_node *v, const struct wl_joint_runs *runs)
{
    const double own = v->tau * v->tau;
    return runs->n ? own / (own + v->sigma * v->sigma / (double)runs->n) : 0;
}

/* Settings of one pass over the factor: the inner loop is over them. */
enum { BLOCK = 8 };

/* |L^-1 scale b|^2 of settings first .. first + m - 1, m <= BLOCK; x: [r][BLOCK]. */
static void smooth_variances(const struct wl_joint *j, const struct wl_joint_node *v, size_t first, size_t m,
                             double out[BLOCK], double *x)
{
    const size_t r = j->basis.r;
    for (size_t q = 0; q < BLOCK; q++) out[q] = 0;
    for (size_t k = 0; k < r; k++) {
        const double *l = v->l + k * r;
        double sum[BLOCK] = { 0 };
        for (size_t q = 0; q < m; q++) sum[q] = v->scale[k] * j->basis.b[(first + q) * r + k];
        for (size_t c = 0; c < k; c++)
            for (size_t q = 0; q < BLOCK; q++) sum[q] -= l[c] * x[c * BLOCK + q];
        for (size_t q = 0; q < BLOCK; q++) {
            x[k * BLOCK + q] = sum[q] / l[k];
            out[q] += x[k * BLOCK + q] * x[k * BLOCK + q];
        }
    }
}

static void fill_setting(const struct wl_joint *j, const struct wl_joint_part *p, struct wl_joint_node *v, size_t i,
                         double smooth_variance)
{
    const double *b = j->basis.b + i * j->basis.r, own = wl_joint_own_share(v, &p->runs[i]);
    double smooth = 0;
    for (size_t k = 0; k < j->basis.r; k++) smooth += b[k] * v->coefficients[k];
    v->mean[i] = p->base[i] + smooth + own * (p->y[i] - smooth);
    v->variance[i] = (1 - own) * (1 - own) * smooth_variance + v->tau * v->tau * (1 - own);
}

static void fill_node(const struct wl_joint *j, const struct wl_joint_part *p, struct wl_joint_node *v,
                      struct wl_arena *a)
{
    const size_t r = j->basis.r;
    double *x = wl_new_array(a, double, r *BLOCK), variance[BLOCK];
    wl_cholesky_backward(v->l, r, v->coefficients);
    for (size_t k = 0; k < r; k++) v->coefficients[k] *= v->scale[k];
    v->mean = wl_new_array(a, double, j->n);
    v->variance = wl_new_array(a, double, j->n);
    for (size_t i = 0; i < j->n; i++) {
        if (i % BLOCK == 0) smooth_variances(j, v, i, j->n - i < BLOCK ? j->n - i : BLOCK, variance, x);
        fill_setting(j, p, v, i, variance[i % BLOCK]);
    }
}

static void keep_nodes(struct wl_joint *j, const struct wl_joint_data *d, enum wl_joint_response r, const double *ln,
                       const struct batches *sums, const struct sigmas *s, size_t n, struct wl_arena *a)
{
    struct wl_joint_part *p = &j->part[r];
    const size_t columns = j->basis.r;
    double top = -INFINITY, total = 0;
    for (size_t i = 0; i < n; i++) top = fmax(top, ln[i]);
    p->nodes = wl_new_array(a, struct wl_joint_node, n);
    for (size_t i = 0; i < n; i++) {
        if (!(exp(ln[i] - top) > light)) continue;
        struct wl_joint_node *v = &p->nodes[p->n_nodes++];
        *v = (struct wl_joint_node) { exp(ln[i] - top), thetas[i / (TAUS * SIGMAS)],
                                      geometric(least, most, i / SIGMAS % TAUS, TAUS), s->sd[i % SIGMAS] };
        total += v->weight;
        v->scale = wl_new_array(a, double, columns);
        v->l = wl_new_array(a, double, columns *columns);
        v->coefficients = wl_new_array(a, double, columns);
        wl_joint_basis_scale(&j->basis, d, r, v->theta, v->scale);
        solve_node(v, sums, columns);
        fill_node(j, p, v, a);
    }
    for (size_t k = 0; k < p->n_nodes; k++) p->nodes[k].weight /= total;
}

/* The mean of the data less slopes stands in for a flat level: the level's sd of 5 is wide of it. */
static void set_base(struct wl_joint_part *p, const struct wl_joint_data *d, enum wl_joint_response r)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < d->n; i++) {
        for (size_t k = 0; k < d->n_axes; k++) p->base[i] += d->axes[k].slope[r] * d->axes[k].x[i];
        if (!p->runs[i].n) continue;
        sum += p->runs[i].mean - p->base[i];
        n++;
    }
    for (size_t i = 0; i < d->n; i++) {
        p->base[i] += sum / n;
        p->y[i] = p->runs[i].n ? p->runs[i].mean - p->base[i] : 0;
    }
}

void wl_joint_posterior(struct wl_joint *j, const struct wl_joint_data *d, enum wl_joint_response r, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct wl_joint_part *p = &j->part[r];
    p->base = wl_new_array(a, double, d->n);
    p->y = wl_new_array(a, double, d->n);
    p->mean = wl_new_array(a, double, d->n);
    set_base(p, d, r);
    const struct batches sums = sums_of(&j->basis, p, scratch);
    const struct sigmas s = sigmas_of(p->runs, d->n);
    const size_t n_thetas = j->basis.pairs ? WL_COUNT(thetas) : 1;
    const double *ln = weigh(j, d, r, &sums, &s, n_thetas, scratch);
    keep_nodes(j, d, r, ln, &sums, &s, n_thetas * TAUS * SIGMAS, a);
    for (size_t k = 0; k < p->n_nodes; k++)
        for (size_t i = 0; i < d->n; i++) p->mean[i] += p->nodes[k].weight * p->nodes[k].mean[i];
    wl_arena_free(scratch);
}
