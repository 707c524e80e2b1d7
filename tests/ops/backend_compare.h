/* One graph on two back-ends with the same inputs, and how far apart their results are. */
#ifndef WL_TESTS_OPS_BACKEND_COMPARE_H
#define WL_TESTS_OPS_BACKEND_COMPARE_H

#include "nn/graph/graph.h"
#include "nn/nn.h"

struct floats {
    float *v;
    size_t n;
};

/* ||a - b||^2 / ||b||^2, 0 where they are equal; any NAN gives NAN. */
double nmse(struct floats a, struct floats b);

/* Fills every f32 input with normal numbers, every i32 one with numbers below `classes`, from (seed, name). */
void fill_inputs(struct wl_plan *p, const struct wl_graph *g, uint64_t seed, int64_t classes);

/* Sets every parameter and statistic of a plan to normal numbers around 1 by (seed, name), so that no gradient is
 * hidden by a zero. Statistics stay positive. */
void fill_state(struct wl_plan *p, uint64_t seed);

/* All parameter gradients of a plan, in order. */
struct floats all_gradients(struct wl_plan *p, struct wl_arena *a);

/* All states of one kind, in order. */
struct floats all_states(struct wl_plan *p, enum wl_state_kind kind, struct wl_arena *a);

/* How the mean loss rises where the parameters move 1e-3 along the gradient that the plan computes, by a central
 * difference: short against the corners of relu, long against rounding. `length` is that of the gradient. A lost or
 * doubled branch would change `rise` by far more than rounding does. */
struct slope {
    double rise, length;
};
struct slope slope_along_gradient(struct wl_plan *p, struct wl_arena *a);

#endif
