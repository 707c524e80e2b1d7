/* What the tests against tools/oracle share: its golden files, and what both sides compute by themselves. The rules are
 * those of tools/oracle/rules.py. */
#ifndef WL_TESTS_MODELS_ORACLE_H
#define WL_TESTS_MODELS_ORACLE_H

#include "models/models.h"

/* tests/golden/models/NAME.json; fails the test where it cannot be read. */
const struct wl_json *oracle_open(const char *name, struct wl_arena *a);

double oracle_real(const struct wl_json *object, const char *key);

/* Images and labels of optimizer step `step`, samples [from, from + N) of its `batch`: noise over a pattern of the
 * label's class. N is the plan's. */
struct oracle_inputs {
    uint64_t seed;
    int64_t step, batch, from, classes;
};
void oracle_fill(struct wl_plan *p, const struct wl_image_model_io *net, struct oracle_inputs in);

/* Whether the parameter of that name is what a batch norm adds. */
bool oracle_is_norm_bias(const struct wl_graph *g, const char *name);

/* A golden print is [L2 norm, dot products with vectors of +-1 that belong to the name]: at most so many. The mean of
 * the squared differences of two tensors' products is an estimate of their squared distance that leaves no element out.
 */
enum { ORACLE_PROJECTIONS = 8 };

/* The distance of x [n] from the tensor of that print, estimated. */
double oracle_distance(const char *name, const float *x, size_t n, const struct wl_json *golden);

/* $TEST_BACKEND, the only one whose gradients are compared; NULL: the default one, and all tests of the file. */
const char *oracle_backend(void);

#endif
