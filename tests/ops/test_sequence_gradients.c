/* The backward kernels of operations on sequences (finite.h). */
#include "finite_diff.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void gelu(const struct problem *p, double *y) { wl_ref_gelu(p->n_out, p->in[0], y); }

static void gelu_backward(struct problem *p) { wl_ref_gelu_backward(p->n_out, p->in[0], p->cotangent, p->gradient[0]); }

static void test_gelu(void **state)
{
    (void)state;
    static struct problem p;
    p = (struct problem) { .n_in = 1, .n = { 501 }, .n_out = 501, .forward = gelu, .backward = gelu_backward };
    finite_check(&p, "gelu");
}

/* Some tokens more than once. */
static void embedding(const struct problem *p, double *y)
{
    wl_ref_embed_tokens(p->lookup, p->labels, p->in[0], p->in[1], p->in[2], y);
}

static void embedding_backward(struct problem *p)
{
    for (int k = 0; k < p->n_in; k++) memset(p->gradient[k], 0, sizeof p->gradient[k]);
    wl_ref_embed_tokens_backward(p->lookup, p->labels, p->cotangent, p->gradient[0], p->gradient[1], p->gradient[2]);
}

static void test_embedding(void **state)
{
    (void)state;
    enum { V = 11, S = 6, F = 5, N = 3 };
    static struct problem p;
    p = (struct problem) { .n_in = 3, .n = { V * F, S * F, F }, .n_out = N * S * F, .lookup = { N * S, S, F } };
    for (int i = 0; i < N * S; i++) p.labels[i] = (int32_t)wl_random_below(FINITE_SEED, 1, (uint64_t)i, V);
    p.forward = embedding;
    p.backward = embedding_backward;
    finite_check(&p, "embedding");
}

/* z = x + dropout(branch), as the rule puts it together. */
static void layer_norm(const struct problem *p, double *y)
{
    static double z[FINITE_MAX];
    wl_ref_dropout(&p->drop, p->in[1], z);
    wl_ref_add(p->n_out, p->in[0], z, z);
    wl_ref_layer_norm((struct wl_vectors) { p->matrix.n, p->matrix.f }, 1e-5, z, p->in[2], p->in[3], y);
}

static void layer_norm_backward(struct problem *p)
{
    static double z[FINITE_MAX];
    wl_ref_dropout(&p->drop, p->in[1], z);
    wl_ref_add(p->n_out, p->in[0], z, z);
    wl_ref_layer_norm_backward(&(struct wl_ref_layer_norm_grad) { .rows = { p->matrix.n, p->matrix.f },
                                                                  .eps = 1e-5,
                                                                  .z = z,
                                                                  .dy = p->cotangent,
                                                                  .gamma = p->in[2],
                                                                  .dz = p->gradient[0],
                                                                  .dgamma = p->gradient[2],
                                                                  .dbeta = p->gradient[3] });
    wl_ref_dropout(&p->drop, p->gradient[0], p->gradient[1]);
}

static void test_layer_norm(void **state)
{
    (void)state;
    enum { ROWS = 14, F = 23 };
    static struct problem p;
    p = (struct problem) { .n_in = 4, .n = { ROWS * F, ROWS * F, F, F }, .n_out = ROWS * F };
    p.matrix = (struct wl_matrix) { .n = ROWS, .f = F };
    p.drop = (struct wl_dropout) { .key = 5, .drop = 20000, .update = 2, .n = 2, .f = ROWS / 2 * F };
    p.forward = layer_norm;
    p.backward = layer_norm_backward;
    finite_check(&p, "layer_norm");
}

static void attention(const struct problem *p, double *y)
{
    static double scratch[FINITE_MAX];
    wl_ref_attention(p->heads, &p->drop, p->in[0], p->labels, y, scratch);
}

static void attention_backward(struct problem *p)
{
    static double scratch[FINITE_MAX];
    wl_ref_attention_backward(p->heads, &p->drop, p->in[0], p->labels, p->cotangent, p->gradient[0], scratch);
}

/* A whole sample, one with padding, one of padding alone. */
static void test_attention(void **state)
{
    (void)state;
    enum { N = 3, S = 9, HEADS = 2, F = 4 };
    static struct problem p;
    for (uint32_t drop = 0; drop <= 20000; drop += 20000) {
        p = (struct problem) { .n_in = 1, .n = { N * S * 3 * HEADS * F }, .n_out = N * S * HEADS * F };
        p.heads = (struct wl_heads) { N, S, HEADS, F };
        p.drop = (struct wl_dropout) { .key = 3, .drop = drop, .update = 1, .sample = 7, .n = N, .f = HEADS * S * S };
        memcpy(p.labels, (int32_t[]) { S, 5, 0 }, 3 * sizeof(int32_t));
        p.forward = attention;
        p.backward = attention_backward;
        finite_check(&p, drop ? "attention with dropout" : "attention");
    }
}

static void gather(const struct problem *p, double *y) { wl_ref_gather(p->gather, p->labels, p->in[0], y); }

static void gather_backward(struct problem *p)
{
    wl_ref_gather_backward(p->gather, p->labels, p->cotangent, p->gradient[0]);
}

static void test_gather(void **state)
{
    (void)state;
    enum { N = 2, S = 7, P = 3, F = 5 };
    static struct problem p;
    p = (struct problem) { .n_in = 1, .n = { N * S * F }, .n_out = N * P * F, .gather = { N, S, P, F } };
    memcpy(p.labels, (int32_t[]) { 6, 0, 0, 2, 1, 5 }, 6 * sizeof(int32_t));
    p.forward = gather;
    p.backward = gather_backward;
    finite_check(&p, "gather");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_gelu), cmocka_unit_test(test_embedding),
                                        cmocka_unit_test(test_layer_norm), cmocka_unit_test(test_attention),
                                        cmocka_unit_test(test_gather) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
