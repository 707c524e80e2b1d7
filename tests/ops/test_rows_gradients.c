/* The backward kernels of operations on rows against central differences of the forward kernels along random
 * directions, both of nn/ref and built with double. */
#include "nn/ref/ref.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SEED = 9, MAX_ELEMENTS = 4096, ATOMS = 5, EDGES = 2 * 7, F = 4 };
static const double STEP = 1e-5, TOLERANCE = 1e-6;

/* Arrays that a kernel has a gradient by, that gradient, the result and its cotangent. */
struct problem {
    int n_in;
    int64_t n[6], n_out;
    double in[6][MAX_ELEMENTS], gradient[6][MAX_ELEMENTS], out[MAX_ELEMENTS], cotangent[MAX_ELEMENTS];
    void (*forward)(struct problem *p, double *out);
    void (*backward)(struct problem *p);
    enum wl_activation activation;
};

static void fill(double *to, int64_t n, uint64_t stream)
{
    for (int64_t i = 0; i < n; i++) to[i] = wl_random_normal(SEED, stream, (uint64_t)i);
}

static double loss(struct problem *p)
{
    double sum = 0;
    p->forward(p, p->out);
    for (int64_t i = 0; i < p->n_out; i++) sum += p->out[i] * p->cotangent[i];
    return sum;
}

static double loss_moved(struct problem *p, int k, const double *direction, double by)
{
    for (int64_t i = 0; i < p->n[k]; i++) p->in[k][i] += by * direction[i];
    const double f = loss(p);
    for (int64_t i = 0; i < p->n[k]; i++) p->in[k][i] -= by * direction[i];
    return f;
}

static void check(struct problem *p, const char *what)
{
    static double direction[MAX_ELEMENTS];
    for (int k = 0; k < p->n_in; k++) fill(p->in[k], p->n[k], (uint64_t)k);
    fill(p->cotangent, p->n_out, 10);
    loss(p);
    p->backward(p);
    for (int k = 0; k < p->n_in; k++) {
        fill(direction, p->n[k], 20);
        double along = 0, scale = 0;
        for (int64_t i = 0; i < p->n[k]; i++) {
            along += p->gradient[k][i] * direction[i];
            scale += fabs(p->gradient[k][i] * direction[i]);
        }
        const double slope = (loss_moved(p, k, direction, STEP) - loss_moved(p, k, direction, -STEP)) / (2 * STEP);
        if (!(fabs(along - slope) <= TOLERANCE * (1 + scale)))
            fail_msg("%s, input %d: gradient along the direction %.12g, finite difference %.12g", what, k, along,
                     slope);
    }
}

/* Two molecules: a square and its diagonal's atom, each atom near two to four others; and one atom alone. */
static const int32_t edge_start[] = { 0, 3, 6, 8, 12, 14 };
static const int32_t source[EDGES] = { 1, 2, 3, 0, 3, 4, 0, 3, 0, 1, 2, 4, 1, 3 };
static const int32_t reverse[EDGES] = { 3, 6, 8, 0, 9, 12, 1, 10, 2, 4, 7, 13, 5, 11 };
static const int32_t triplet_start[] = { 0, 6, 12, 14, 26, 28 };
static const int32_t pair[] = { 1, 0, 2, 0, 3, 0, 3, 1, 3, 2, 4, 1, 4, 3 };
static const int32_t atom_start[] = { 0, 5, 6 }, pair_start[] = { 0, 7, 7 };
static const double distance[EDGES / 2] = { 0.9, 1.3, 2.2, 1.1, 4.9, 3.3, 1.7 };

/* ---- dense: x, w, b, residual ------------------------------------------------------------------------------------ */

enum { ROWS = 7, IN = 5, OUT = 3 };

static void dense(struct problem *p, double *out)
{
    static double u[ROWS * OUT];
    wl_ref_dense(&(struct wl_dense_args) { .m = { ROWS, IN, OUT },
                                           .activation = p->activation,
                                           .x = p->in[0],
                                           .w = p->in[1],
                                           .b = p->in[2],
                                           .residual = p->in[3],
                                           .y = out,
                                           .u = u });
    memcpy(p->in[4], u, sizeof u);
}

static void dense_backward(struct problem *p)
{
    wl_ref_dense_backward(&(struct wl_dense_grad) { .m = { ROWS, IN, OUT },
                                                    .activation = p->activation,
                                                    .x = p->in[0],
                                                    .w = p->in[1],
                                                    .u = p->in[4],
                                                    .dy = p->cotangent,
                                                    .dx = p->gradient[0],
                                                    .dw = p->gradient[1],
                                                    .db = p->gradient[2] });
    memcpy(p->gradient[3], p->cotangent, ROWS * OUT * sizeof(double));
}

static void test_dense(void **state)
{
    (void)state;
    static struct problem p;
    for (int a = WL_ACT_NONE; a <= WL_ACT_SWISH; a++) {
        p = (struct problem) { .n_in = 4, .n = { ROWS * IN, OUT * IN, OUT, ROWS * OUT }, .n_out = ROWS * OUT };
        p.forward = dense;
        p.backward = dense_backward;
        p.activation = (enum wl_activation)a;
        check(&p, "dense");
    }
}

/* ---- filter_conv: x, w0, b0, w2, b2 ------------------------------------------------------------------------------ */

enum { GAUSSIANS = 6 };

static struct wl_filter_args filter_args(struct problem *p, double *out)
{
    return (struct wl_filter_args) { .molecules = 2,
                                     .f = F,
                                     .gaussians = GAUSSIANS,
                                     .cutoff = 5,
                                     .atom_start = atom_start,
                                     .pair_start = pair_start,
                                     .pair = pair,
                                     .distance = distance,
                                     .x = p->in[0],
                                     .w0 = p->in[1],
                                     .b0 = p->in[2],
                                     .w2 = p->in[3],
                                     .b2 = p->in[4],
                                     .y = out };
}

static void filter_conv(struct problem *p, double *out)
{
    const struct wl_filter_args a = filter_args(p, out);
    wl_ref_filter_conv(&a);
}

static void filter_conv_backward(struct problem *p)
{
    const struct wl_filter_grad g = { .of = filter_args(p, p->out),
                                      .dy = p->cotangent,
                                      .dx = p->gradient[0],
                                      .dw0 = p->gradient[1],
                                      .db0 = p->gradient[2],
                                      .dw2 = p->gradient[3],
                                      .db2 = p->gradient[4] };
    wl_ref_filter_conv_backward(&g);
}

static void test_filter_conv(void **state)
{
    (void)state;
    static struct problem p;
    p = (struct problem) { .n_in = 5, .n = { 6 * F, F * GAUSSIANS, F, F * F, F }, .n_out = 6 * F };
    p.forward = filter_conv;
    p.backward = filter_conv_backward;
    check(&p, "filter_conv");
}

/* ---- filter_conv by a table: each pair of the two molecules four times, enough for the table of two Gaussians ---- */

enum { TIMES = 4, TABLE_GAUSSIANS = 2 };

static struct wl_filter_args filter_table_args(struct problem *p, double *out)
{
    enum { N = EDGES / 2, FINEST = 32 * (TABLE_GAUSSIANS - 1) + 6 };
    static int32_t pairs[2 * N * TIMES], starts[] = { 0, N * TIMES, N * TIMES };
    static double distances[N * TIMES], scratch[4 * FINEST * F];
    for (int i = 0; i < N * TIMES; i++) {
        memcpy(pairs + 2 * i, pair + 2 * (i % N), 2 * sizeof *pair);
        distances[i] = distance[i % N] / (1 + .1 * (i / N)); /* across several cells */
    }
    struct wl_filter_args a = filter_args(p, out);
    a.gaussians = TABLE_GAUSSIANS;
    a.pair_start = starts;
    a.pair = pairs;
    a.distance = distances;
    a.scratch = scratch;
    return a;
}

static void filter_table(struct problem *p, double *out)
{
    const struct wl_filter_args a = filter_table_args(p, out);
    wl_ref_filter_conv(&a);
}

static void filter_table_backward(struct problem *p)
{
    const struct wl_filter_grad g = { .of = filter_table_args(p, p->out),
                                      .dy = p->cotangent,
                                      .dx = p->gradient[0],
                                      .dw0 = p->gradient[1],
                                      .db0 = p->gradient[2],
                                      .dw2 = p->gradient[3],
                                      .db2 = p->gradient[4] };
    wl_ref_filter_conv_backward(&g);
}

/* The gradient is that of the interpolated function: it holds to more digits than both have in common with the exact
 * one. */
static void test_filter_table(void **state)
{
    (void)state;
    static struct problem p;
    static double exact[ATOMS * F + F];
    p = (struct problem) { .n_in = 5, .n = { 6 * F, F * TABLE_GAUSSIANS, F, F * F, F }, .n_out = 6 * F };
    p.forward = filter_table;
    p.backward = filter_table_backward;
    check(&p, "filter_conv by a table");
    filter_table(&p, p.out);
    struct wl_filter_args a = filter_table_args(&p, exact);
    a.exact = true;
    wl_ref_filter_conv(&a);
    double off = 0;
    for (int64_t i = 0; i < p.n_out; i++) off = fmax(off, fabs(exact[i] - p.out[i]));
    if (!(off > 1e-14 && off < 1e-4)) fail_msg("by a table y is %.2g off: there was none, or a wrong one", off);
}

/* ---- gate: x, basis, w ------------------------------------------------------------------------------------------- */

static void gate(struct problem *p, double *out)
{
    wl_ref_gate(&(struct wl_gate_args) { ROWS, F, IN, p->in[0], p->in[1], p->in[2], out, NULL });
}

static void gate_backward(struct problem *p)
{
    wl_ref_gate_backward(&(struct wl_gate_grad) { .of = { ROWS, F, IN, p->in[0], p->in[1], p->in[2], p->out, NULL },
                                                  .dy = p->cotangent,
                                                  .dx = p->gradient[0],
                                                  .d_basis = p->gradient[1],
                                                  .dw = p->gradient[2] });
}

static void test_gate(void **state)
{
    (void)state;
    static struct problem p;
    p = (struct problem) { .n_in = 3, .n = { ROWS * F, ROWS * IN, F * IN }, .n_out = ROWS * F };
    p.forward = gate;
    p.backward = gate_backward;
    check(&p, "gate");
}

/* ---- edge_concat: x, z; segment_sum: x; bessel_basis: frequencies ------------------------------------------------ */

static void concat(struct problem *p, double *out)
{
    wl_ref_edge_concat(&(struct wl_edge_concat_args) { F, IN, edge_start, source, reverse, p->in[0], p->in[1], out }, 0,
                       ATOMS);
}

static void concat_backward(struct problem *p)
{
    wl_ref_edge_concat_backward(&(struct wl_edge_concat_grad) { .of = { F, IN, edge_start, source, reverse, p->in[0],
                                                                        p->in[1], p->out },
                                                                .dy = p->cotangent,
                                                                .dx = p->gradient[0],
                                                                .dz = p->gradient[1] },
                                0, ATOMS);
}

static void test_edge_concat(void **state)
{
    (void)state;
    static struct problem p;
    p = (struct problem) { .n_in = 2, .n = { ATOMS * F, EDGES * IN }, .n_out = EDGES * (2 * F + IN) };
    p.forward = concat;
    p.backward = concat_backward;
    check(&p, "edge_concat");
}

static void segment(struct problem *p, double *out)
{
    wl_ref_segment_sum(ATOMS, ATOMS + 2, F, edge_start, p->in[0], out);
}

static void segment_backward(struct problem *p)
{
    wl_ref_segment_sum_backward(ATOMS, F, edge_start, p->cotangent, p->gradient[0]);
}

static void test_segment_sum(void **state)
{
    (void)state;
    static struct problem p;
    p = (struct problem) { .n_in = 1, .n = { EDGES * F }, .n_out = (ATOMS + 2) * F };
    p.forward = segment;
    p.backward = segment_backward;
    check(&p, "segment_sum");
}

static const struct wl_basis basis = { .radial = 4, .spherical = 3, .power = 6, .cutoff = 5 };

static void bessel(struct problem *p, double *out)
{
    wl_ref_bessel_basis(&basis, 0, EDGES / 2, distance, p->in[0], out);
}

static void bessel_backward(struct problem *p)
{
    wl_ref_bessel_basis_backward(&basis, 0, EDGES / 2, distance, p->in[0], p->cotangent, p->gradient[0]);
}

static void test_bessel_basis(void **state)
{
    (void)state;
    static struct problem p;
    p = (struct problem) { .n_in = 1, .n = { 4 }, .n_out = EDGES / 2 * 4 };
    p.forward = bessel;
    p.backward = bessel_backward;
    check(&p, "bessel_basis");
}

/* ---- triplet_conv: x, v, w, residual ----------------------------------------------------------------------------- */

enum { BILINEAR = 3, ORDERS = 3, RADIALS = 2, TRIPLETS = 28 };

static struct wl_triplet_args triplet_args(struct problem *p, double *out)
{
    static double radial[EDGES * ORDERS * RADIALS], angular[TRIPLETS * ORDERS];
    fill(radial, EDGES * ORDERS * RADIALS, 30);
    fill(angular, TRIPLETS * ORDERS, 31);
    return (struct wl_triplet_args) { .atoms = ATOMS,
                                      .f = F,
                                      .bilinear = BILINEAR,
                                      .orders = ORDERS,
                                      .radials = RADIALS,
                                      .edge_start = edge_start,
                                      .reverse = reverse,
                                      .triplet_start = triplet_start,
                                      .x = p->in[0],
                                      .residual = p->in[3],
                                      .radial = radial,
                                      .angular = angular,
                                      .v = p->in[1],
                                      .w = p->in[2],
                                      .y = out };
}

static void triplet(struct problem *p, double *out)
{
    const struct wl_triplet_args a = triplet_args(p, out);
    wl_ref_triplet_conv(&a);
}

static void triplet_backward(struct problem *p)
{
    const struct wl_triplet_grad g = { .of = triplet_args(p, p->out),
                                       .dy = p->cotangent,
                                       .dx = p->gradient[0],
                                       .dv = p->gradient[1],
                                       .dw = p->gradient[2] };
    wl_ref_triplet_conv_backward(&g);
    memcpy(p->gradient[3], p->cotangent, EDGES * F * sizeof(double));
}

static void test_triplet_conv(void **state)
{
    (void)state;
    static struct problem p;
    p = (struct problem) { .n_in = 4,
                           .n = { EDGES * F, BILINEAR * ORDERS * RADIALS, F * BILINEAR * F, EDGES * F },
                           .n_out = EDGES * F };
    p.forward = triplet;
    p.backward = triplet_backward;
    check(&p, "triplet_conv");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),        cmocka_unit_test(test_filter_conv),  cmocka_unit_test(test_filter_table),
        cmocka_unit_test(test_gate),         cmocka_unit_test(test_edge_concat),  cmocka_unit_test(test_segment_sum),
        cmocka_unit_test(test_bessel_basis), cmocka_unit_test(test_triplet_conv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
