#include "advise/joint/joint.h"

#include "advise/joint/internal.h"
#include "stats/stats.h"

#include <math.h>

#define LN2 0.69314718055994530942

const struct wl_joint_axis wl_joint_workers_axis = {
    .length = 3 * LN2, .slope = { -0.9, 0 }, .slope_sd = { 0.25, 0.1 }, .curve_sd = { 0.3, 0.1 }
};
const struct wl_joint_axis wl_joint_cap_axis = { .length = 0.7, .curve_sd = { 0.4, 0.3 } };
const struct wl_joint_axis wl_joint_count_axis = { .length = 3 * LN2,
                                                   .slope_sd = { 0.5, 0.25 },
                                                   .curve_sd = { 0.3, 0.1 } };

static int check(const struct wl_joint_data *d, struct wl_err *e)
{
    size_t timed = 0;
    if (d->n > WL_JOINT_MAX_SETTINGS)
        return wl_fail(e, WL_EINVAL, "%zu settings: expected at most %d; restrict them to fewer", d->n,
                       WL_JOINT_MAX_SETTINGS);
    for (int r = 0; r < WL_JOINT_RESPONSES; r++)
        for (size_t i = 0; d->runs[r] && i < d->n; i++) {
            const struct wl_joint_runs *v = &d->runs[r][i];
            if (v->n && !(isfinite(v->mean) && v->sum_squares >= 0 && isfinite(v->sum_squares)))
                return wl_fail(e, WL_EINVAL, "setting %zu has no finite mean of its %zu runs", i, v->n);
            timed += r == WL_JOINT_TIME && v->n;
        }
    for (size_t k = 0; k < d->n_axes; k++)
        for (size_t i = 0; i < d->n; i++)
            if (!isfinite(d->axes[k].x[i]))
                return wl_fail(e, WL_EINVAL, "setting %zu has no finite coordinate on axis %zu", i, k);
    return timed ? 0 : wl_fail(e, WL_EINVAL, "no setting has a run with a time");
}

static bool any_run(const struct wl_joint_runs *v, size_t n)
{
    for (size_t i = 0; v && i < n; i++)
        if (v[i].n) return true;
    return false;
}

int wl_joint_fit(const struct wl_joint_data *d, struct wl_joint **out, struct wl_arena *a, struct wl_err *e)
{
    int rc = check(d, e);
    if (rc) return rc;
    struct wl_joint *j = *out = wl_new(a, struct wl_joint);
    *j = (struct wl_joint) { .n = d->n, .rho = d->rho, .seed = d->seed, .basis = wl_joint_basis_new(d, a) };
    for (int r = 0; r < WL_JOINT_RESPONSES; r++) {
        if (!any_run(d->runs[r], d->n)) continue;
        struct wl_joint_runs *runs = wl_new_array(a, struct wl_joint_runs, d->n);
        for (size_t i = 0; i < d->n; i++) runs[i] = d->runs[r][i];
        j->part[r].runs = runs;
        wl_joint_posterior(j, d, (enum wl_joint_response)r, a);
    }
    wl_joint_draw(j, a);
    return 0;
}

bool wl_joint_has(const struct wl_joint *j, enum wl_joint_response r) { return j->part[r].n_nodes > 0; }

const double *wl_joint_means(const struct wl_joint *j, enum wl_joint_response r) { return j->part[r].mean; }

const double *wl_joint_draws(const struct wl_joint *j, enum wl_joint_response r) { return j->part[r].draws; }

double wl_joint_run_mean(const struct wl_joint *j, enum wl_joint_response r, size_t i)
{
    const struct wl_joint_runs *runs = j->part[r].runs;
    return runs && runs[i].n ? runs[i].mean : NAN;
}

double wl_joint_rho(const struct wl_joint *j) { return j->rho; }

double wl_joint_run_variance(const struct wl_joint *j, enum wl_joint_response r)
{
    const struct wl_joint_part *p = &j->part[r];
    double sum = 0;
    for (size_t k = 0; k < p->n_nodes; k++) sum += p->nodes[k].weight * p->nodes[k].sigma * p->nodes[k].sigma;
    return sum;
}

struct wl_joint_scatter wl_joint_scatter(const struct wl_joint *j, enum wl_joint_response r)
{
    const struct wl_joint_part *p = &j->part[r];
    struct wl_joint_scatter out = { 0 };
    for (size_t k = 0; k < p->n_nodes; k++) {
        out.tau += p->nodes[k].weight * p->nodes[k].tau;
        out.sigma += p->nodes[k].weight * p->nodes[k].sigma;
    }
    return out;
}

/* ---- probabilities ---- */

/* Means and variances of y_i - y_ref, or of y_i, at each node: [nodes][n]. */
struct differences {
    size_t n_nodes;
    double *mean, *variance;
};

static size_t reference_of(const struct wl_joint_question *q, size_t i) { return q->refs ? q->refs[i] : q->ref; }

/* What the covariance of a setting with `ref` by the smooth part is the product with. */
static void solve_reference(const struct wl_joint *j, const struct wl_joint_node *v, size_t ref, double *x)
{
    const size_t r = j->basis.r;
    for (size_t k = 0; k < r; k++) x[k] = v->scale[k] * j->basis.b[ref * r + k];
    wl_cholesky_forward(v->l, r, x);
    wl_cholesky_backward(v->l, r, x);
}

static double covariance(const struct wl_joint *j, const struct wl_joint_part *p, const struct wl_joint_node *v,
                         size_t ref, size_t i, const double *x)
{
    const size_t r = j->basis.r;
    double sum = 0;
    for (size_t k = 0; k < r; k++) sum += x[k] * v->scale[k] * j->basis.b[i * r + k];
    return sum * (1 - wl_joint_own_share(v, &p->runs[ref])) * (1 - wl_joint_own_share(v, &p->runs[i]));
}

static struct differences differences_of(const struct wl_joint *j, enum wl_joint_response r,
                                         const struct wl_joint_question *q, struct wl_arena *a)
{
    const struct wl_joint_part *p = &j->part[r];
    struct differences out = { p->n_nodes, wl_new_array(a, double, p->n_nodes * j->n),
                               wl_new_array(a, double, p->n_nodes * j->n) };
    double *x = wl_new_array(a, double, j->basis.r);
    for (size_t k = 0; k < p->n_nodes; k++) {
        const struct wl_joint_node *v = &p->nodes[k];
        for (size_t i = 0, solved = WL_JOINT_ABSOLUTE; i < j->n; i++) {
            const size_t at = k * j->n + i, ref = reference_of(q, i);
            out.mean[at] = v->mean[i];
            out.variance[at] = v->variance[i];
            if (ref == WL_JOINT_ABSOLUTE) continue;
            if (ref != solved) solve_reference(j, v, solved = ref, x);
            const double with = covariance(j, p, v, ref, i, x);
            out.mean[at] -= v->mean[ref];
            out.variance[at] += v->variance[ref] - 2 * with;
        }
    }
    return out;
}

static void of_one(const struct wl_joint_part *p, const struct differences *x, double coefficient, size_t n,
                   const double *limit, double *out)
{
    for (size_t k = 0; k < x->n_nodes; k++)
        for (size_t i = 0; i < n; i++) {
            const double sd = fabs(coefficient) * sqrt(fmax(x->variance[k * n + i], 1e-12));
            out[i] += p->nodes[k].weight * wl_normal_cdf((limit[i] - coefficient * x->mean[k * n + i]) / sd);
        }
}

static void of_both(const struct wl_joint *j, const struct differences *t, const struct differences *p,
                    const struct wl_joint_question *q, double *out)
{
    const struct wl_joint_node *tn = j->part[WL_JOINT_TIME].nodes, *pn = j->part[WL_JOINT_POWER].nodes;
    for (size_t k = 0; k < t->n_nodes; k++)
        for (size_t l = 0; l < p->n_nodes; l++)
            for (size_t i = 0; i < j->n; i++) {
                const double vt = fmax(t->variance[k * j->n + i], 1e-12), vp = fmax(p->variance[l * j->n + i], 1e-12),
                             mean = q->time * t->mean[k * j->n + i] + q->power * p->mean[l * j->n + i],
                             v = q->time * q->time * vt + q->power * q->power * vp +
                                 2 * j->rho * q->time * q->power * sqrt(vt * vp);
                out[i] += tn[k].weight * pn[l].weight * wl_normal_cdf((q->limit[i] - mean) / sqrt(v));
            }
}

void wl_joint_probabilities(const struct wl_joint *j, const struct wl_joint_question *q, double *out,
                            struct wl_arena *scratch)
{
    for (size_t i = 0; i < j->n; i++) out[i] = 0;
    struct differences x[WL_JOINT_RESPONSES] = { 0 };
    if (q->time != 0) x[0] = differences_of(j, WL_JOINT_TIME, q, scratch);
    if (q->power != 0) x[1] = differences_of(j, WL_JOINT_POWER, q, scratch);
    if (q->time != 0 && q->power != 0)
        of_both(j, &x[0], &x[1], q, out);
    else if (q->time != 0)
        of_one(&j->part[WL_JOINT_TIME], &x[0], q->time, j->n, q->limit, out);
    else
        of_one(&j->part[WL_JOINT_POWER], &x[1], q->power, j->n, q->limit, out);
    for (size_t i = 0; i < j->n; i++)
        if (reference_of(q, i) == i) out[i] = q->limit[i] >= 0;
}
