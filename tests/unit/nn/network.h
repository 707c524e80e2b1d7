/* A small network, plans of it, and the arena of one test. */
#ifndef WL_TESTS_UNIT_NN_NETWORK_H
#define WL_TESTS_UNIT_NN_NETWORK_H

#include "nn/plan/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct wl_arena *a;

static inline int set_up(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    wl_arena_free(a);
    return 0;
}

enum { BATCH = 3, CLASSES = 4 };

/* Two convolutions with batch norms, so that there are several buckets, and a head. */
static inline struct wl_graph *network(void)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "images", WL_F32, WL_DIMS(BATCH, 3, 8, 8));
    struct wl_tensor *labels = wl_input(g, "labels", WL_I32, WL_DIMS(BATCH));
    for (int i = 0; i < 2; i++) {
        wl_scope_push(g, "layer%d", i);
        x = wl_conv2d(g, "conv", x, (struct wl_conv) { .channels = 18, .kernel = { 3, 3 }, .pad = { 1, 1 } });
        x = wl_batch_norm(g, "bn", x, (struct wl_batch_norm_opts) { .relu = true });
        wl_scope_pop(g);
    }
    wl_cross_entropy(g, "loss", wl_linear(g, "fc", x, CLASSES), labels, (struct wl_loss) { 0 });
    return g;
}

static inline struct wl_plan *plan(struct wl_plan_opts o, struct wl_comm *comm)
{
    struct wl_plan *p = NULL;
    struct wl_err e = { 0 };
    struct wl_graph *g = network();
    if (wl_plan_new(&p, g, &o, comm, a, &e)) fail_msg("%s", e.msg);
    float *x = wl_plan_input(p, g->tensors[0]);
    for (uint64_t i = 0; i < BATCH * 3 * 64 && !o.dry; i++) x[i] = (float)wl_random_normal(5, 5, i);
    return p;
}

static inline int train(struct wl_plan *p, bool first, bool last, struct wl_err *e)
{
    struct wl_counts c = { 0 };
    return wl_plan_train(p, first, last, &c, e);
}

static inline float *state_of(struct wl_plan *p, const char *name, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < wl_plan_state_count(p); i++) {
        struct wl_state s = wl_plan_state(p, i);
        if (strcmp(s.name, name)) continue;
        float *v = wl_new_array(a, float, s.count);
        assert_int_equal(wl_plan_state_read(p, i, v, NULL), 0);
        *n = s.count;
        return v;
    }
    fail_msg("no state %s", name);
    return NULL;
}

#define WITH_ARENA(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
