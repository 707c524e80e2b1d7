#include "backend_compare.h"

#include <math.h>

double nmse(struct floats a, struct floats b)
{
    double difference = 0, size = 0;
    WL_CHECK(a.n == b.n);
    for (size_t i = 0; i < a.n; i++) {
        double d = (double)a.v[i] - (double)b.v[i];
        difference += d * d;
        size += (double)b.v[i] * (double)b.v[i];
    }
    return difference == 0 ? 0 : difference / size;
}

static void fill_input(struct wl_plan *p, const struct wl_tensor *t, uint64_t seed, int64_t classes)
{
    uint64_t stream = wl_hash_fnv1a(t->name);
    int64_t n = wl_dims_count(&t->dims);
    void *to = wl_plan_input(p, t);
    for (int64_t i = 0; i < n; i++) {
        if (t->dtype == WL_F32)
            ((float *)to)[i] = (float)wl_random_normal(seed, stream, (uint64_t)i);
        else
            ((int32_t *)to)[i] = (int32_t)wl_random_below(seed, stream, (uint64_t)i, (uint64_t)classes);
    }
}

void fill_inputs(struct wl_plan *p, const struct wl_graph *g, uint64_t seed, int64_t classes)
{
    for (size_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->role == WL_ROLE_INPUT) fill_input(p, g->tensors[i], seed, classes);
}

void fill_state(struct wl_plan *p, uint64_t seed)
{
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < wl_plan_state_count(p); i++) {
        struct wl_state s = wl_plan_state(p, i);
        float *v = wl_new_array(a, float, s.count);
        for (size_t j = 0; j < s.count; j++) {
            double x = wl_random_normal(seed, wl_hash_fnv1a(s.name), j);
            v[j] = (float)(s.kind == WL_STATE_STATISTIC ? 0.5 + fabs(x) : 0.3 + x);
        }
        if (s.kind != WL_STATE_OPTIM) WL_CHECK(!wl_plan_state_write(p, i, v, NULL));
    }
    wl_arena_free(a);
}

struct floats all_states(struct wl_plan *p, enum wl_state_kind kind, struct wl_arena *a)
{
    struct floats all = { 0 };
    for (size_t i = 0; i < wl_plan_state_count(p); i++)
        if (wl_plan_state(p, i).kind == kind) all.n += wl_plan_state(p, i).count;
    float *to = all.v = wl_new_array(a, float, all.n);
    for (size_t i = 0; i < wl_plan_state_count(p); i++) {
        struct wl_state s = wl_plan_state(p, i);
        if (s.kind != kind) continue;
        WL_CHECK(!wl_plan_state_read(p, i, to, NULL));
        to += s.count;
    }
    return all;
}

struct floats all_gradients(struct wl_plan *p, struct wl_arena *a)
{
    struct floats all = all_states(p, WL_STATE_PARAM, a);
    float *to = all.v;
    for (size_t i = 0; i < wl_plan_state_count(p); i++) {
        struct wl_state s = wl_plan_state(p, i);
        if (s.kind != WL_STATE_PARAM) continue;
        WL_CHECK(!wl_plan_gradient_read(p, i, to, NULL));
        to += s.count;
    }
    return all;
}

/* The mean loss with the parameters moved by `by` along a direction. */
static double loss_at(struct wl_plan *p, struct floats w, struct floats direction, double by)
{
    struct wl_arena *a = wl_arena_new(NULL);
    size_t at = 0;
    for (size_t i = 0; i < wl_plan_state_count(p); i++) {
        struct wl_state s = wl_plan_state(p, i);
        if (s.kind != WL_STATE_PARAM) continue;
        float *v = wl_new_array(a, float, s.count);
        for (size_t j = 0; j < s.count; j++, at++) v[j] = (float)((double)w.v[at] + by * (double)direction.v[at]);
        WL_CHECK(!wl_plan_state_write(p, i, v, NULL));
    }
    struct wl_counts c = { 0 };
    WL_CHECK(!wl_plan_train(p, true, true, &c, NULL));
    wl_arena_free(a);
    return c.loss_sum / (double)c.samples;
}

struct slope slope_along_gradient(struct wl_plan *p, struct wl_arena *a)
{
    struct wl_counts c = { 0 };
    WL_CHECK(!wl_plan_train(p, true, true, &c, NULL));
    struct floats w = all_states(p, WL_STATE_PARAM, a), direction = all_gradients(p, a);
    double length = 0;
    for (size_t i = 0; i < direction.n; i++) length += (double)direction.v[i] * (double)direction.v[i];
    length = sqrt(length);
    const double h = 1e-3 / length;
    return (struct slope) { (loss_at(p, w, direction, h) - loss_at(p, w, direction, -h)) / 2e-3, length };
}
