/* What the tests against tools/oracle share: its golden files, and what both sides compute by themselves. The rules are
 * those of tools/oracle/rules.py. */
#ifndef WL_TESTS_MODELS_ORACLE_H
#define WL_TESTS_MODELS_ORACLE_H

#include "models/models.h"

/* tests/golden/models/NAME.json; fails the test where it cannot be read. */
const struct wl_json *oracle_open(const char *name, struct wl_arena *a);

double oracle_real(const struct wl_json *object, const char *key);

/* Images and labels of optimiser step `step`, samples [from, from + N) of its `batch`: noise over a pattern of the
 * label's class. N is the plan's. */
struct oracle_inputs {
    uint64_t seed;
    int64_t step, batch, from, classes;
};
void oracle_fill(struct wl_plan *p, const struct wl_model_net *net, struct oracle_inputs in);

/* The L2 norm of x [n], and its dot products with vectors of +-1 that belong to the name. The mean of the squared
 * differences of two tensors' projections is an estimate of their squared distance that leaves no element out. */
enum { ORACLE_PROJECTIONS = 8 };
struct oracle_print {
    double norm, projection[ORACLE_PROJECTIONS];
};
struct oracle_print oracle_print(const char *name, const float *x, size_t n);

/* The distance from the golden print [norm, projections ...], estimated from the projections that it has. */
double oracle_distance(const struct oracle_print *ours, const struct wl_json *golden);

#endif
