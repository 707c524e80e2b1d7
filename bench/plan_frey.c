/* How well shared constants carry over to networks that they were not fitted on: bench_plan_frey PLAN.ini
 *
 * Of the networks of a plan that have a published exponent, each choice of half of them fits the constants of the
 * machine and of the frameworks (least squares on the exponents with the priors of the plan) and is tested on the
 * others: 20 splits of six networks. Prints the exponents without any fit, each split, and the mean absolute difference
 * of the tested. */
#include "planner/planner.h"

#include <math.h>
#include <stdlib.h>

static const double EXPONENT_SD = .03; /* of a published exponent: the standard error of those that have one */
static const double DF = 3;            /* of Student's t, the distribution of the differences */
enum { MAX_NETWORKS = 20, MAX_POINTS = 64 };

struct bench {
    const struct wl_planner_plan *plan;
    struct wl_planner_plan *copy;
    struct wl_planner_parameters shared; /* of machine and frameworks */
    size_t networks[MAX_NETWORKS], n;    /* workloads with a published exponent */
    unsigned train;                      /* set of networks that are fitted */
    double *z, sd[MAX_NETWORKS];
};

static double exponent(const struct bench *b, size_t network)
{
    const struct wl_planner_case c = wl_planner_case_of(b->copy, 0, b->networks[network]);
    double workers[MAX_POINTS], epoch_s[MAX_POINTS];
    size_t n = 0;
    for (size_t i = 0; i < c.workload->workers.n && n < MAX_POINTS; i++, n++) {
        const struct wl_planner_setting at = wl_planner_setting_of((double)c.workload->workers.v[i]);
        workers[n] = at.workers;
        epoch_s[n] = wl_planner_evaluate(&c, &at).epoch_s;
    }
    return wl_planner_exponent_of(workers, epoch_s, n).beta;
}

static double published(const struct bench *b, size_t network)
{
    return b->plan->workloads[b->networks[network]].reference_exponent;
}

static size_t differences(const struct bench *b, const double *z, double *r)
{
    size_t n = 0;
    wl_planner_parameters_set(&b->shared, z, b->copy);
    for (size_t i = 0; i < b->n; i++)
        if (b->train >> i & 1) r[n++] = (exponent(b, i) - published(b, i)) / b->sd[i];
    for (size_t j = 0; j < b->shared.n; j++) r[n++] = z[j];
    return n;
}

static void residuals(const double *z, double *r, double *jacobian, void *data)
{
    struct bench *b = data;
    const size_t k = b->shared.n, all = differences(b, z, r);
    const double step = 1e-4;
    for (size_t j = 0; jacobian && j < k; j++) {
        double *column = jacobian + j * all;
        for (size_t i = 0; i < k; i++) b->z[i] = z[i];
        b->z[j] = z[j] + step;
        differences(b, b->z, column);
        b->z[j] = z[j] - step;
        differences(b, b->z, r);
        for (size_t i = 0; i < all; i++) column[i] = (column[i] - r[i]) / (2 * step);
    }
    differences(b, z, r);
}

/* Mean |difference| of the exponents of the networks that are (tested: not) in the training set. */
static double mean_difference(const struct bench *b, bool tested, double *each)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < b->n; i++) {
        if ((b->train >> i & 1) == tested) continue;
        const double d = exponent(b, i) - published(b, i);
        if (each) each[i] += fabs(d);
        sum += fabs(d);
        n++;
    }
    return sum / n;
}

/* Weights of Student's t: a network that the model cannot describe must not bend the constants of the others. */
static void reweight(struct bench *b)
{
    for (size_t i = 0; i < b->n; i++) {
        const double d = (exponent(b, i) - published(b, i)) / EXPONENT_SD;
        b->sd[i] = EXPONENT_SD * sqrt((DF + d * d) / (DF + 1));
    }
}

static int fit(struct bench *b, double *z, struct wl_arena *a, struct wl_err *e)
{
    enum { PASSES = 20 };
    struct wl_nls nls;
    const size_t trained = (size_t)__builtin_popcount(b->train);
    struct wl_nls_problem problem = { trained + b->shared.n, b->shared.n, residuals, b };
    int rc = 0;
    for (int pass = 0; pass < PASSES && rc == 0; pass++) {
        wl_planner_parameters_set(&b->shared, z, b->copy);
        reweight(b);
        rc = wl_nls_fit(&nls, &problem, z, a, e);
        for (size_t j = 0; rc == 0 && j < b->shared.n; j++) z[j] = nls.theta[j];
    }
    wl_planner_parameters_set(&b->shared, z, b->copy);
    return rc;
}

static const char *name_of(const struct bench *b, size_t network)
{
    return b->plan->workloads[b->networks[network]].name;
}

/* The shared constants: not the step time of one device, nor what only energies need. */
static void choose_parameters(struct bench *b, struct wl_arena *a)
{
    const struct wl_planner_parameters all = wl_planner_parameters_of(b->plan, 0, false, a);
    for (size_t i = 0; i < all.n; i++) {
        if (wl_str_starts(all.v[i].section, "workload")) continue;
        WL_GROW(a, b->shared.v, b->shared.n, b->shared.cap);
        b->shared.v[b->shared.n++] = all.v[i];
    }
    b->z = wl_new_array(a, double, b->shared.n);
}

static int split(struct bench *b, double *each, double *tested, struct wl_arena *a, struct wl_err *e)
{
    double *z = wl_new_array(a, double, b->shared.n);
    int rc = fit(b, z, a, e);
    if (rc) return rc;
    *tested = mean_difference(b, true, each);
    wl_print("  %.3f fitted, %.3f tested:", mean_difference(b, false, NULL), *tested);
    for (size_t i = 0; i < b->n; i++)
        wl_print(" %s%s %.2f", b->train >> i & 1 ? "" : "*", name_of(b, i), exponent(b, i));
    wl_print("\n");
    return 0;
}

static void print_exponents(const struct bench *b)
{
    double sum = 0;
    for (size_t i = 0; i < b->n; i++) {
        wl_print("  %-12s %.2f, published %.2f\n", name_of(b, i), exponent(b, i), published(b, i));
        sum += fabs(exponent(b, i) - published(b, i)) / (double)b->n;
    }
    wl_print("  mean absolute difference %.3f\n", sum);
}

static int run(struct bench *b, double limit, struct wl_arena *a, struct wl_err *e)
{
    double each[MAX_NETWORKS] = { 0 }, sum = 0, splits = 0, *z = wl_new_array(a, double, b->shared.n);
    wl_print("without a fit\n");
    print_exponents(b);
    wl_print("fitted on half of the networks (tested: *)\n");
    for (b->train = 0; b->train < 1u << b->n; b->train++) {
        double tested;
        if ((size_t)__builtin_popcount(b->train) != b->n / 2) continue;
        int rc = split(b, each, &tested, a, e);
        if (rc) return rc;
        sum += tested;
        splits++;
    }
    wl_print("tested, mean absolute difference of each\n");
    for (size_t i = 0; i < b->n; i++) wl_print("  %-12s %.3f\n", name_of(b, i), each[i] / (splits / 2));
    b->train = (1u << b->n) - 1;
    int rc = fit(b, z, a, e);
    if (rc) return rc;
    wl_print("fitted on all (in-sample: proves nothing)\n");
    print_exponents(b);
    for (size_t j = 0; j < b->shared.n; j++)
        wl_print("  %s of %s: %.3g instead of %.3g %s\n", wl_planner_parameter_rows[b->shared.v[j].id].key,
                 b->shared.v[j].section, wl_planner_parameter_value(&b->shared.v[j], z[j]), b->shared.v[j].median,
                 wl_planner_parameter_rows[b->shared.v[j].id].unit);
    wl_print("%g splits, tested: mean absolute difference %.4f\n", splits, sum / splits);
    return sum / splits <= limit ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_planner_plan plan;
    struct wl_err e = { 0 };
    struct bench b = { .plan = &plan };
    int rc =
        argc >= 2 ? wl_planner_read(argv[1], NULL, &plan, a, &e) : wl_fail(&e, WL_EUSAGE, "plan_frey PLAN [LIMIT]");
    for (size_t i = 0; rc == 0 && i < plan.n_workloads && b.n < MAX_NETWORKS; i++)
        if (!isnan(plan.workloads[i].reference_exponent)) b.networks[b.n++] = i;
    if (rc == 0) {
        b.copy = wl_planner_plan_copy(&plan, a);
        choose_parameters(&b, a);
        rc = run(&b, argc > 2 ? atof(argv[2]) : INFINITY, a, &e);
    }
    if (rc < 0) wl_eprint("plan_frey: %s\n", e.msg);
    wl_arena_free(a);
    return rc != 0;
}
