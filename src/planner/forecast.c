/* What a posterior says: intervals of constants, bands of points, and how well it forecast what was left out. */
#include "planner/calibrate.h"

#include "planner/internal.h"

#include "stats/stats.h"

#include <math.h>

/* Median and 95 % interval of draws, which are sorted. */
static struct wl_estimate interval(double *v, size_t n)
{
    static const double levels[] = { .5, .025, .975 };
    double at[3];
    wl_sort_ascending(v, n);
    for (size_t i = 0; i < 3; i++) at[i] = v[lround(levels[i] * (double)(n - 1))];
    return (struct wl_estimate) { at[0], at[1], at[2] };
}

struct wl_planner_marginal wl_planner_marginal_of(const struct wl_planner_posterior *q, size_t parameter,
                                                  struct wl_arena *a)
{
    const struct wl_planner_parameter *p = &q->parameters.v[parameter];
    double *v = wl_new_array(a, double, q->draws);
    for (size_t i = 0; i < q->draws; i++) v[i] = q->z[i * q->parameters.n + parameter];
    const double sd = wl_sd(v, q->draws);
    const struct wl_estimate z = interval(v, q->draws);
    const struct wl_estimate value = { wl_planner_parameter_value(p, q->mode[parameter]),
                                       wl_planner_parameter_value(p, z.lo), wl_planner_parameter_value(p, z.hi) };
    return (struct wl_planner_marginal) { value, sd };
}

/* One value of each response per draw: a new configuration, with its scatter. */
static void draw_point(const struct wl_planner_posterior *q, size_t draw, const struct wl_planner_plan *copy,
                       const struct wl_planner_forecast *f, double *to[3])
{
    const struct wl_planner_case c = wl_planner_case_of(copy, q->machine, f->workload);
    const struct wl_planner_point p = wl_planner_evaluate(&c, &f->at);
    const uint64_t key = (uint64_t)q->plan->seed, stream = wl_planner_stream(draw, WL_PLANNER_NEW, 0);
    const double time = q->s[2 * draw] * wl_random_normal(key, stream, 0),
                 power = q->s[2 * draw + 1] * wl_random_normal(key, stream, 1);
    const double values[] = { p.epoch_s * exp(time), p.energy_j * exp(time + power), p.power_w * exp(power) };
    for (size_t i = 0; i < 3; i++) to[i][draw] = values[i];
}

static struct wl_estimate band(double value, double *v, size_t n)
{
    if (isnan(value)) return (struct wl_estimate) { NAN, NAN, NAN };
    struct wl_estimate e = interval(v, n);
    e.value = value;
    return e;
}

/* A few points: all of their draws are in memory. v [3 n][draws] */
static void forecast_some(const struct wl_planner_posterior *q, struct wl_planner_plan *copy,
                          struct wl_planner_forecast *f, size_t n, double **v)
{
    for (size_t draw = 0; draw < q->draws; draw++) {
        wl_planner_parameters_set(&q->parameters, q->z + draw * q->parameters.n, copy);
        for (size_t i = 0; i < n; i++) draw_point(q, draw, copy, &f[i], v + 3 * i);
    }
    wl_planner_parameters_set(&q->parameters, q->mode, copy);
    for (size_t i = 0; i < n; i++) {
        const struct wl_planner_case c = wl_planner_case_of(copy, q->machine, f[i].workload);
        f[i].point = wl_planner_evaluate(&c, &f[i].at);
        f[i].time_s = band(f[i].point.epoch_s, v[3 * i], q->draws);
        f[i].energy_j = band(f[i].point.energy_j, v[3 * i + 1], q->draws);
        f[i].power_w = band(f[i].point.power_w, v[3 * i + 2], q->draws);
    }
}

void wl_planner_forecast(const struct wl_planner_posterior *q, struct wl_planner_forecast *f, size_t n,
                         struct wl_arena *a)
{
    wl_planner_forecast_within(q, f, n, 64 << 20, a);
}

void wl_planner_forecast_within(const struct wl_planner_posterior *q, struct wl_planner_forecast *f, size_t n,
                                size_t bytes, struct wl_arena *a)
{
    enum { RESPONSES = 3 };
    struct wl_arena *scratch = wl_arena_new(a);
    struct wl_planner_plan *copy = wl_planner_plan_copy(q->plan, scratch);
    const size_t of_a_point = RESPONSES * q->draws * sizeof(double), fit = bytes / of_a_point;
    const size_t at_once = fit < 1 ? 1 : fit < n ? fit : n;
    double **v = wl_new_array(scratch, double *, RESPONSES *at_once);
    for (size_t i = 0; i < RESPONSES * at_once; i++) v[i] = wl_new_array(scratch, double, q->draws);
    for (size_t i = 0; i < n; i += at_once) forecast_some(q, copy, f + i, n - i < at_once ? n - i : at_once, v);
    wl_arena_free(scratch);
}

/* ---- accuracy ---- */

static double largest_workers(const struct wl_planner_rows *rows)
{
    double n = 0;
    for (size_t i = 0; i < rows->n; i++) n = fmax(n, rows->v[i].at.workers);
    return n;
}

static void score(struct wl_planner_accuracy *out, struct wl_arena *a)
{
    double *errors = wl_new_array(a, double, out->n);
    for (size_t i = 0; i < out->n; i++) {
        errors[i] = fabs(out->f[i].time_s.value / out->measured_s[i] - 1);
        out->inside += out->measured_s[i] >= out->f[i].time_s.lo && out->measured_s[i] <= out->f[i].time_s.hi;
    }
    out->median_error = wl_median(errors, out->n, a);
}

int wl_planner_leave_largest_out(const struct wl_planner_plan *p, size_t machine, const struct wl_planner_rows *rows,
                                 struct wl_planner_accuracy *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_planner_rows few = { 0 };
    struct wl_planner_posterior q;
    *out = (struct wl_planner_accuracy) { .largest = largest_workers(rows) / 2, .median_error = NAN };
    out->f = wl_new_array(a, struct wl_planner_forecast, rows->n);
    out->measured_s = wl_new_array(a, double, rows->n);
    for (size_t i = 0; i < rows->n; i++) {
        const struct wl_planner_row *row = &rows->v[i];
        if (row->at.workers <= out->largest) {
            WL_GROW(a, few.v, few.n, few.cap);
            few.v[few.n++] = *row;
            continue;
        }
        out->f[out->n] = (struct wl_planner_forecast) { .workload = row->workload, .at = row->at };
        out->measured_s[out->n++] = exp(row->ln_time);
    }
    out->trained = few.n;
    if (!few.n) out->why = "all measurements are at one scale";
    int rc = few.n ? wl_planner_calibrate(p, machine, &few, &q, a, e) : 0;
    if (rc || !few.n) return rc;
    wl_planner_forecast(&q, out->f, out->n, a);
    score(out, a);
    return 0;
}
