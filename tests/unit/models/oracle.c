#include "oracle.h"

#include "nn/graph/graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const struct wl_json *oracle_open(const char *name, struct wl_arena *a)
{
    char *path = wl_strf(a, "%s/models/%s.json", WL_GOLDEN, name), *text;
    struct wl_err e = { 0 };
    struct wl_json *golden = NULL;
    if (wl_file_read(path, 1 << 20, &text, NULL, a, &e) || wl_json_parse(text, path, &golden, a, &e))
        fail_msg("%s", e.msg);
    return golden;
}

double oracle_real(const struct wl_json *object, const char *key)
{
    double x = wl_json_real(wl_json_get(object, key));
    if (isnan(x)) fail_msg("the golden file has no %s", key);
    return x;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

/* Element i of a stream, uniform with mean 0 and variance 1. */
static double spread(uint64_t seed, const char *stream, uint64_t i)
{
    return (2 * wl_random_uniform(seed, wl_hash_fnv1a(stream), i) - 1) * sqrt(3);
}

void oracle_fill(struct wl_plan *p, const struct wl_image_model_io *net, struct oracle_inputs in)
{
    const struct wl_dims *dims = wl_tensor_dims(net->images);
    const uint64_t n = (uint64_t)dims->d[0], pixels = (uint64_t)(wl_dims_count(dims) / dims->d[0]);
    float *images = wl_plan_input(p, net->images);
    int32_t *labels = wl_plan_input(p, net->labels);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t sample = (uint64_t)(in.step * in.batch + in.from) + i;
        uint64_t label = wl_random_below(in.seed, wl_hash_fnv1a("labels"), sample, (uint64_t)in.classes);
        labels[i] = (int32_t)label;
        for (uint64_t j = 0; j < pixels; j++)
            images[i * pixels + j] = (float)(spread(in.seed, "noise", sample * pixels + j) +
                                             spread(in.seed, "patterns", label * pixels + j));
    }
}

bool oracle_is_norm_bias(const struct wl_graph *g, const char *name)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->op == WL_OP_BATCH_NORM && wl_str_eq(g->nodes[i]->par[1]->name, name)) return true;
    return false;
}

/* ---- prints ------------------------------------------------------------------------------------------------------ */

/* splitmix64 of element i: bit p set means that projection p subtracts it. */
static uint64_t sign_bits(uint64_t name, uint64_t i)
{
    uint64_t z = name + (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* Rows of +-1: element p of row r is -1 where bit p of r is set. The compiler makes vectors of what multiplies by a
 * row. */
enum { SIGNS = 1 << ORACLE_PROJECTIONS };

static void fill_signs(double sign[SIGNS][ORACLE_PROJECTIONS])
{
    for (int r = 0; r < SIGNS; r++)
        for (int p = 0; p < ORACLE_PROJECTIONS; p++) sign[r][p] = r >> p & 1 ? -1 : 1;
}

double oracle_distance(const char *name, const float *x, size_t n, const struct wl_json *golden)
{
    const uint64_t hash = wl_hash_fnv1a(name);
    const int projections = (int)wl_json_size(golden) - 1;
    double sum[ORACLE_PROJECTIONS] = { 0 }, squares = 0, sign[SIGNS][ORACLE_PROJECTIONS];
    assert_true(projections > 0 && projections <= ORACLE_PROJECTIONS);
    fill_signs(sign);
    for (size_t i = 0; i < n; i++) {
        const double *row = sign[sign_bits(hash, i) % SIGNS];
        for (int p = 0; p < ORACLE_PROJECTIONS; p++) sum[p] += row[p] * x[i];
    }
    for (int p = 0; p < projections; p++) {
        double d = sum[p] - wl_json_real(wl_json_at(golden, (size_t)p + 1));
        squares += d * d;
    }
    return sqrt(squares / projections);
}

const char *oracle_backend(void) { return getenv("TEST_BACKEND"); }
