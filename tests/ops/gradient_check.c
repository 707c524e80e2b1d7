#include "gradient_check.h"

#include <math.h>
#include <string.h>

/* A step is long against the rounding of f32, 2^-24, and short against the curvature of what is differentiated: four
 * values make the error of a slope a multiple of H^4. */
static const double H = 0x1p-8, TOLERANCE = 5e-4, ROUNDING = 0x1p-22;

/* An input, or a parameter: a state of the plan. */
struct variable {
    const struct wl_tensor *input; /* NULL: a parameter */
    size_t state;
    const char *name;
    size_t n;
};

static void must(int rc, const struct wl_err *e)
{
    if (rc) fail_msg("%s", e->msg);
}

static void get(struct wl_plan *p, const struct variable *v, float *to)
{
    struct wl_err e = { 0 };
    if (v->input)
        memcpy(to, wl_plan_input(p, v->input), v->n * sizeof *to);
    else
        must(wl_plan_state_read(p, v->state, to, &e), &e);
}

static void put(struct wl_plan *p, const struct variable *v, const float *from)
{
    struct wl_err e = { 0 };
    if (v->input)
        memcpy(wl_plan_input(p, v->input), from, v->n * sizeof *from);
    else
        must(wl_plan_state_write(p, v->state, from, &e), &e);
}

static void get_gradient(struct wl_plan *p, const struct variable *v, float *to)
{
    struct wl_err e = { 0 };
    must(v->input ? wl_plan_value_gradient(p, v->input, to, &e) : wl_plan_gradient_read(p, v->state, to, &e), &e);
}

static struct floats result(const struct twin *t, struct wl_arena *a)
{
    train(t->plan);
    return read_tensor(wl_plan_value, t->plan, t->y, a);
}

/* y where v is moved by `by` along the direction. */
static struct floats result_moved(const struct twin *t, const struct variable *v, const float *x,
                                  const double *direction, double by, struct wl_arena *a)
{
    float *moved = wl_new_array(a, float, v->n);
    for (size_t i = 0; i < v->n; i++) moved[i] = (float)((double)x[i] + by * direction[i]);
    put(t->plan, v, moved);
    return result(t, a);
}

/* The slope of each element of y, NAN where there is a corner near it: there the curve turns by much against its rise.
 * Losses have no corners. */
static double *slopes(const struct twin *t, const struct variable *v, const double *direction, struct floats y,
                      struct wl_arena *a)
{
    static const double CORNER = 0.02;
    float *x = wl_new_array(a, float, v->n);
    struct floats at[5] = { [2] = y };
    get(t->plan, v, x);
    for (int k = -2; k <= 2; k++)
        if (k) at[k + 2] = result_moved(t, v, x, direction, k * H, a);
    put(t->plan, v, x);
    double *slope = wl_new_array(a, double, y.n);
    for (size_t j = 0; j < y.n; j++) {
        const double left2 = (double)at[0].v[j], left = (double)at[1].v[j], middle = (double)at[2].v[j],
                     right = (double)at[3].v[j], right2 = (double)at[4].v[j], rise = right2 - left2;
        const double limit = CORNER * fabs(rise) + ROUNDING * fabs(middle);
        const bool turns = fabs(right - 2 * middle + left) > limit || fabs(right2 - 2 * middle + left2) > limit;
        slope[j] = t->target && turns ? NAN : (8 * (right - left) - rise) / (12 * H);
    }
    return slope;
}

/* A loss that weighs the elements of y at random, and those at a corner with 0; a loss weighs itself. Returns the
 * gradient by y of what is trained. */
static const float *weigh(const struct twin *t, const double *slope, struct floats y, struct wl_arena *a)
{
    if (!t->target) {
        float *weight = wl_new(a, float);
        *weight = (float)t->y->producer->u.loss.weight;
        train(t->plan);
        return weight;
    }
    float *target = wl_plan_input(t->plan, t->target);
    for (size_t j = 0; j < y.n; j++)
        if (!isnan(target[j])) /* padding */
            target[j] = isnan(slope[j]) ? y.v[j] : y.v[j] - (float)wl_random_normal(t->number, 30, j);
    train(t->plan);
    return read_tensor(wl_plan_value_gradient, t->plan, t->y, a).v;
}

/* The derivative of what is trained along the direction, and how far rounding may move it. */
struct derivative {
    double value, error;
};

static struct derivative derivative_of(const double *slope, const float *dy, struct floats y)
{
    double value = 0, size = 0, rounding = 0;
    for (size_t j = 0; j < y.n; j++) {
        if (isnan(slope[j])) continue;
        const double w = (double)dy[j], part = w * slope[j];
        value += part;
        size += part * part;
        rounding += w * w * (double)y.v[j] * (double)y.v[j];
    }
    return (struct derivative) { value, TOLERANCE * sqrt(size) + ROUNDING / H * sqrt(rounding) };
}

static void check_corners(const double *slope, size_t n, const char *name, const char *line)
{
    size_t corners = 0;
    for (size_t j = 0; j < n; j++) corners += isnan(slope[j]);
    if (corners > 10 && 2 * corners > n)
        fail_msg("%s: %zu of %zu slopes are near corners; repeat: %s", name, corners, n, line);
}

static void check_variable(const struct twin *t, const struct variable *v, const char *line)
{
    struct wl_arena *a = wl_arena_new(NULL);
    double *direction = wl_new_array(a, double, v->n), along = 0;
    float *gradient = wl_new_array(a, float, v->n);
    for (size_t i = 0; i < v->n; i++) direction[i] = wl_random_normal(t->number, 20, i);
    struct floats y = result(t, a);
    const double *slope = slopes(t, v, direction, y, a);
    check_corners(slope, y.n, v->name, line);
    const struct derivative want = derivative_of(slope, weigh(t, slope, y, a), y);
    get_gradient(t->plan, v, gradient);
    for (size_t i = 0; i < v->n; i++) along += (double)gradient[i] * direction[i];
    if (!(fabs(along - want.value) <= want.error))
        fail_msg("ref: gradient by %s along a direction is %.6g, finite difference %.6g; repeat: %s", v->name, along,
                 want.value, line);
    wl_arena_free(a);
}

int check_gradients(const struct twin *t, const char *line)
{
    int checked = 0;
    for (size_t i = 0; i < t->g->n_tensors; i++) {
        const struct wl_tensor *in = t->g->tensors[i];
        if (in->role != WL_ROLE_INPUT || !in->gradient) continue;
        check_variable(t, &(struct variable) { in, 0, in->name, (size_t)wl_dims_count(&in->dims) }, line);
        checked++;
    }
    for (size_t i = 0; i < wl_plan_state_count(t->plan); i++) {
        const struct wl_state s = wl_plan_state(t->plan, i);
        if (s.kind != WL_STATE_PARAM) continue;
        check_variable(t, &(struct variable) { NULL, i, s.name, s.count }, line);
        checked++;
    }
    return checked;
}
