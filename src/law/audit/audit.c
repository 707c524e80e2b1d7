/* What a published table of exponents implies: standard errors from R2, tests between its rows, and the Amdahl curve
 * with the same log-log slope. */
#include "law/audit/audit.h"

#include "law/audit/findings.h"
#include "law/fit/estimate.h"
#include "law/labels.h"

#include <math.h>

/* ---- one row ---- */

static double se_of(double beta, double r2, double df) { return fabs(beta) * sqrt((1 / r2 - 1) / df); }

/* n worker counts from n_min to n_max: doublings with n_max as the last one where that makes n, else even steps. */
static void grid(double *x, size_t n, double n_min, double n_max)
{
    bool doublings = n_min * pow(2, (double)n - 2) < n_max && n_min * pow(2, (double)n - 1) >= n_max;
    for (size_t i = 0; i < n; i++) {
        double even = log(n_min) + log(n_max / n_min) * (double)i / (double)(n - 1);
        x[i] = !doublings ? even : i + 1 < n ? log(n_min) + (double)i * log(2) : log(n_max);
    }
}

/* The straight line of ln(1/N + share) on ln N. */
static struct wl_law_estimate line_through(const double *x, size_t n, double share, struct wl_arena *a)
{
    double *y = wl_new_array(a, double, n);
    for (size_t i = 0; i < n; i++) y[i] = log(exp(-x[i]) + share);
    return wl_law_estimate_line("curve", y, x, NULL, n, a);
}

/* beta falls from 1 to 0 as the share grows: bisection. */
static void find_amdahl_equivalent(struct wl_audit_implied *out, const struct wl_audit_row *row, struct wl_arena *a)
{
    bool known = row->n_min > 0 && row->n_max > row->n_min && out->n >= 3 && out->n <= 1000;
    out->curve_reason = !known                                          ? "the worker counts are not given"
                        : !(row->beta.value > 0 && row->beta.value < 1) ? "an Amdahl curve has a beta between 0 and 1"
                                                                        : NULL;
    if (out->curve_reason) return;
    struct wl_arena *scratch = wl_arena_new(a);
    size_t n = (size_t)out->n;
    double *x = wl_new_array(scratch, double, n), lo = log(1e-9), hi = log(1e3);
    grid(x, n, row->n_min, row->n_max);
    for (int i = 0; i < 60; i++) {
        double middle = (lo + hi) / 2;
        *(line_through(x, n, exp(middle), scratch).beta > row->beta.value ? &lo : &hi) = middle;
    }
    struct wl_law_estimate line = line_through(x, n, exp(lo), scratch);
    out->share = exp(lo);
    out->curve_r2 = line.r2;
    out->curve_se = line.beta_se;
    wl_arena_free(scratch);
}

static void derive_from_r2(struct wl_audit_implied *out, const struct wl_audit_row *row)
{
    double r2_lo = fmax(row->r2.value - row->r2.half, 0), r2_hi = fmin(row->r2.value + row->r2.half, 1);
    out->r2 = r2_hi < 1 ? row->r2.value : (r2_lo + 1) / 2;
    out->from_r2 = true;
    out->se = se_of(row->beta.value, out->r2, out->df);
    out->lo = se_of(fmax(fabs(row->beta.value) - row->beta.half, 0), r2_hi, out->df);
    out->hi = se_of(fabs(row->beta.value) + row->beta.half, r2_lo, out->df);
    double t = row->beta.value / row->se.value;
    out->r2_of_se = 1 / (1 + out->df / (t * t));
    out->contradicts = row->se.value + row->se.half < out->lo || row->se.value - row->se.half > out->hi;
}

static struct wl_audit_implied derive_implied(const struct wl_audit_row *row, double assumed_n, struct wl_arena *a)
{
    struct wl_audit_implied out = { .n = isnan(row->n) ? assumed_n : row->n,
                                    .r2 = row->r2.value,
                                    .se = NAN,
                                    .lo = NAN,
                                    .hi = NAN,
                                    .r2_of_se = NAN,
                                    .share = NAN,
                                    .curve_r2 = NAN,
                                    .curve_se = NAN };
    out.df = out.n - 2;
    if (isnan(out.n)) {
        out.reason = "the number of points is not given";
    } else if (out.n < 3) {
        out.reason = "a line through two points has no standard error";
    } else if (!isnan(row->r2.value)) {
        derive_from_r2(&out, row);
        find_amdahl_equivalent(&out, row, a);
    } else if (!isnan(row->se.value)) {
        out.se = row->se.value;
        out.lo = fmax(row->se.value - row->se.half, 0);
        out.hi = row->se.value + row->se.half;
    } else {
        out.reason = "neither R2 nor a standard error is given";
    }
    if (!out.from_r2) out.curve_reason = "R2 is not given";
    if (!out.reason && !(out.se > 0 && isfinite(out.se))) {
        out.reason = out.from_r2 ? "its R2 does not bound the standard error" : "the printed standard error is 0";
        out.from_r2 = false;
        out.se = out.lo = out.hi = NAN;
    }
    return out;
}

/* ---- rows of a group against each other ---- */

static double welch_df(double u, double v, double df_u, double df_v)
{
    double sum = u * u + v * v;
    return sum * sum / (pow(u, 4) / df_u + pow(v, 4) / df_v);
}

static struct wl_audit_pair pair_of(const struct wl_audit *audit, size_t a, size_t b)
{
    const struct wl_audit_implied *p = &audit->implied[a], *q = &audit->implied[b];
    const struct wl_audit_rounded *x = &audit->rows[a].beta, *y = &audit->rows[b].beta;
    struct wl_audit_pair out = { .a = a, .b = b, .difference = y->value - x->value };
    double se = hypot(p->se, q->se), worst = hypot(p->hi, q->hi);
    double nearest = fmax(fabs(out.difference) - x->half - y->half, 0);
    out.df = welch_df(p->se, q->se, p->df, q->df);
    out.t = out.difference / se;
    out.p = wl_t_two_sided(out.t, out.df);
    out.p_worst = isinf(worst) ? 1 : wl_t_two_sided(nearest / worst, welch_df(p->hi, q->hi, p->df, q->df));
    double half = wl_t_quantile(0.5 + WL_LAW_CONFIDENCE / 2, out.df) * se;
    out.lo = out.difference - half;
    out.hi = out.difference + half;
    return out;
}

static void fill_pairs(const struct wl_audit *audit, struct wl_audit_group *g, struct wl_arena *a)
{
    size_t max = g->n * (g->n - 1) / 2;
    double *p = wl_new_array(a, double, max), *worst = wl_new_array(a, double, max);
    double *holm = wl_new_array(a, double, max), *worst_holm = wl_new_array(a, double, max);
    g->pairs = wl_new_array(a, struct wl_audit_pair, max);
    for (size_t i = 0; i < g->n; i++)
        for (size_t j = i + 1; j < g->n; j++) {
            if (audit->implied[g->rows[i]].reason || audit->implied[g->rows[j]].reason) continue;
            struct wl_audit_pair pair = pair_of(audit, g->rows[i], g->rows[j]);
            p[g->n_pairs] = pair.p;
            worst[g->n_pairs] = pair.p_worst;
            g->pairs[g->n_pairs++] = pair;
        }
    wl_holm(p, g->n_pairs, holm, a);
    wl_holm(worst, g->n_pairs, worst_holm, a);
    for (size_t i = 0; i < g->n_pairs; i++) {
        g->pairs[i].p_holm = holm[i];
        g->pairs[i].p_worst_holm = worst_holm[i];
    }
}

/* Cochran's Q with the implied standard errors, or (worst) with the largest that round to them. */
static double homogeneity(const struct wl_audit *audit, const struct wl_audit_group *g, bool worst, double *df)
{
    double weights = 0, mean = 0, q = 0, n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < g->n; i++) {
            const struct wl_audit_implied *p = &audit->implied[g->rows[i]];
            double beta = audit->rows[g->rows[i]].beta.value, se = worst ? p->hi : p->se;
            if (p->reason || !(se > 0)) continue;
            if (pass == 0) weights += 1 / (se * se), mean += beta / (se * se), n++;
            if (pass == 1) q += (beta - mean) * (beta - mean) / (se * se);
        }
        if (pass == 0) mean /= weights;
    }
    *df = n - 1;
    return n > 1 ? q : NAN;
}

static void collect_groups(struct wl_audit *audit, struct wl_arena *a)
{
    const char **names = wl_new_array(a, const char *, audit->n);
    size_t *ids = wl_new_array(a, size_t, audit->n);
    for (size_t i = 0; i < audit->n; i++) names[i] = audit->rows[i].group;
    audit->n_groups = wl_law_labels(names, audit->n, ids, a);
    audit->groups = wl_new_array(a, struct wl_audit_group, audit->n_groups);
    for (size_t i = 0; i < audit->n; i++) {
        struct wl_audit_group *g = &audit->groups[ids[i]];
        if (!g->rows) g->rows = wl_new_array(a, size_t, audit->n - i);
        g->name = names[i];
        g->rows[g->n++] = i;
    }
}

static int check_row(const struct wl_audit_row *row, struct wl_err *e)
{
    if (!isfinite(row->beta.value)) return wl_fail(e, WL_EINVAL, "line %d: beta is missing", row->line);
    if (row->r2.value < 0 || row->r2.value > 1)
        return wl_fail(e, WL_EINVAL, "line %d: r2 is %g, expected a value from 0 to 1", row->line, row->r2.value);
    if (row->se.value < 0)
        return wl_fail(e, WL_EINVAL, "line %d: se is %g, expected 0 or more", row->line, row->se.value);
    if (!isnan(row->n) && (row->n < 2 || row->n != rint(row->n)))
        return wl_fail(e, WL_EINVAL, "line %d: n is %g, expected a whole number of points, 2 or more", row->line,
                       row->n);
    return 0;
}

int wl_audit_table(const struct wl_audit_row *rows, size_t n, double assumed_n, struct wl_audit *out,
                   struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_audit) { .rows = rows, .n = n };
    for (size_t i = 0; i < n; i++) {
        int rc = check_row(&rows[i], e);
        if (rc) return rc;
    }
    out->implied = wl_new_array(a, struct wl_audit_implied, n);
    for (size_t i = 0; i < n; i++) out->implied[i] = derive_implied(&rows[i], assumed_n, a);
    collect_groups(out, a);
    for (size_t i = 0; i < out->n_groups; i++) {
        struct wl_audit_group *g = &out->groups[i];
        fill_pairs(out, g, a);
        g->q = homogeneity(out, g, false, &g->q_df);
        g->q_p = wl_chi2_sf(g->q, g->q_df);
        if (isnan(g->q_p)) g->q_reason = "fewer than two rows have a standard error";
        double df, worst = homogeneity(out, g, true, &df);
        g->q_p_worst = wl_chi2_sf(worst, df);
    }
    wl_audit_add_findings(out, assumed_n, a);
    return 0;
}
