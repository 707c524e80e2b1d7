#include "finite_diff.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const double H = 1e-5, TOLERANCE = 1e-6;

void finite_fill(double *to, int64_t n, uint64_t stream)
{
    for (int64_t i = 0; i < n; i++) {
        double v = wl_random_normal(FINITE_SEED, stream, (uint64_t)i);
        to[i] = v + (v < 0 ? -0.05 : 0.05);
    }
}

static double loss(struct problem *p, double *scratch)
{
    p->forward(p, scratch);
    double sum = 0;
    for (int64_t i = 0; i < p->n_out; i++) sum += scratch[i] * p->cotangent[i];
    return sum;
}

static double loss_moved(struct problem *p, int k, const double *direction, double by, double *scratch)
{
    double *x = p->in[k], kept[FINITE_MAX];
    memcpy(kept, x, sizeof kept);
    for (int64_t i = 0; i < p->n[k]; i++) x[i] += by * direction[i];
    double f = loss(p, scratch);
    memcpy(x, kept, sizeof kept);
    return f;
}

void finite_check(struct problem *p, const char *what)
{
    static double direction[FINITE_MAX], scratch[FINITE_MAX];
    for (int k = 0; k < p->n_in; k++) {
        assert_true(p->n[k] <= FINITE_MAX);
        finite_fill(p->in[k], p->n[k], (uint64_t)k);
    }
    assert_true(p->n_out <= FINITE_MAX);
    finite_fill(p->cotangent, p->n_out, 10);
    p->forward(p, p->out);
    p->backward(p);
    for (int k = 0; k < p->n_in; k++) {
        for (int64_t i = 0; i < p->n[k]; i++) direction[i] = wl_random_normal(FINITE_SEED, 20, (uint64_t)i);
        double along = 0, scale = 0;
        for (int64_t i = 0; i < p->n[k]; i++) {
            along += p->gradient[k][i] * direction[i];
            scale += fabs(p->gradient[k][i] * direction[i]);
        }
        double slope = (loss_moved(p, k, direction, H, scratch) - loss_moved(p, k, direction, -H, scratch)) / (2 * H);
        if (!(fabs(along - slope) <= TOLERANCE * (1 + scale)))
            fail_msg("%s, input %d, seed %d: gradient along the direction %.12g, finite difference %.12g", what, k,
                     FINITE_SEED, along, slope);
    }
}
