/* Continuous-filter convolution by a table (lowering/filter_table.h): the layers run on its nodes; a pair takes six
 * rows of it, and adds to six rows of its gradient. A row is f floats, so vectors run over features and each weight is
 * one number. */
#include "nn/lowering/filter_table.h"
#include "nn/simd/filter_layers.h"
#include "nn/simd/levels.h"

/* Of loops over registers. Not with sanitizers: GCC takes minutes over their checks of each access. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

enum { TAPS = WL_FILTER_TAPS };

static void nodes_of(const struct wl_filter_table *t, int64_t from, int64_t n, double distance[BLOCK])
{
    for (int64_t i = 0; i < n; i++) distance[i] = wl_filter_node(t, from + i);
}

void WL_SIMD_NAME(wl_filter_nodes)(const struct wl_filter_args *a, const struct wl_filter_packed *packed,
                                   const struct wl_filter_table *t, int64_t from, int64_t to,
                                   const struct wl_filter_rows *rows)
{
    const int64_t f = a->f;
    for (int64_t k = from; k < to; k += BLOCK) {
        const int64_t n = to - k < BLOCK ? to - k : BLOCK;
        double distance[BLOCK];
        nodes_of(t, k, n, distance);
        hidden_block(a, packed->w0, distance, n, rows->hidden + k * f, rows->slopes + k * f);
        second_layer(a, packed->w2, n, rows->hidden + k * f, rows->filters + k * f);
    }
}

struct wl_filter_roughness WL_SIMD_NAME(wl_filter_roughness)(const float *rows, int64_t nodes, int64_t f, int64_t from,
                                                             int64_t to)
{
    struct wl_filter_roughness r = { 0 };
    for (int64_t k = from; k < to; k++) {
        const float *at = rows + k * f;
        const bool inside = k + TAPS < nodes;
        vec difference = { 0 }, size = { 0 };
        for (int64_t j = 0; j < f; j += LANES) {
            const vec x = vec_load(at + j);
            size += x * x;
            if (!inside) continue;
            const vec d = x + vec_load(at + 6 * f + j) - 6 * (vec_load(at + f + j) + vec_load(at + 5 * f + j)) +
                          15 * (vec_load(at + 2 * f + j) + vec_load(at + 4 * f + j)) - 20 * vec_load(at + 3 * f + j);
            difference += d * d;
        }
        r = wl_filter_rougher(r, (struct wl_filter_roughness) { (double)vec_sum(difference), (double)vec_sum(size) });
    }
    return r;
}

/* Of some pairs: the first of their six rows, as an offset in floats, and the rows' weights times the cutoff. */
struct taps {
    int64_t row[BLOCK];
    float weight[TAPS][BLOCK];
};

/* Weights of Lagrange's polynomial at -2, -1, 0, 1, 2, 3, u of the way from node 0 to node 1. The place among the nodes
 * is computed in double: in float it would be off by a share of a cell that shows. */
static void taps_of(const struct wl_filter_args *a, const struct wl_filter_table *t, int64_t from, int64_t n,
                    struct taps *to)
{
    float cut[BLOCK], inside[BLOCK] = { 0 };
    const double last = (double)(t->nodes - TAPS), per_length = t->per_length;
    const float *distance = a->distance + from;
    cut_of(a, from, n, cut);
    for (int64_t i = 0; i < n; i++) {
        const double at = (double)distance[i] * per_length, in = at > 0 ? at < last ? at : last : 0;
        const int64_t cell = (int64_t)in;
        to->row[i] = cell * a->f;
        inside[i] = (float)(at - (double)cell);
    }
    for (int64_t i = 0; i < n; i += LANES) {
        const vec u = vec_load(inside + i), s = vec_load(cut + i);
        const vec l2 = u + 2, l1 = u + 1, r1 = u - 1, r2 = u - 2, r3 = u - 3;
        const vec left = l2 * l1 * s, right = r2 * r3, middle = u * r1;
        vec_store(to->weight[0] + i, l1 * s * middle * right * (-1.f / 120));
        vec_store(to->weight[1] + i, l2 * s * middle * right * (1.f / 24));
        vec_store(to->weight[2] + i, left * r1 * right * (-1.f / 12));
        vec_store(to->weight[3] + i, left * u * right * (1.f / 12));
        vec_store(to->weight[4] + i, left * middle * r3 * (-1.f / 24));
        vec_store(to->weight[5] + i, left * middle * r2 * (1.f / 120));
    }
}

/* Features [0, 16 vectors) from y, x and the table's rows on, of pairs [i, end) of a block that begins at pair `from`,
 * as long as they share their first atom: its features and sums stay in registers. Returns the pair after them. */
INLINE int64_t spread_one(const struct wl_filter_args *a, const struct taps *t, const float *table, int64_t from,
                          int64_t i, int64_t end, int64_t j, int vectors)
{
    const int64_t f = a->f, one = a->pair[2 * (from + i)];
    vec sum[GROUP], x[GROUP];
    UNROLL
    for (int v = 0; v < vectors; v++) {
        sum[v] = vec_load(a->y + one * f + j + v * LANES);
        x[v] = vec_load(a->x + one * f + j + v * LANES);
    }
    for (; i < end && a->pair[2 * (from + i)] == one; i++) {
        const int64_t two = a->pair[2 * (from + i) + 1] * f + j;
        const float *row = table + t->row[i] + j;
        UNROLL
        for (int v = 0; v < vectors; v++) {
            vec filter = t->weight[0][i] * vec_load(row + v * LANES);
            UNROLL
            for (int k = 1; k < TAPS; k++) filter += t->weight[k][i] * vec_load(row + k * f + v * LANES);
            float *y = a->y + two + v * LANES;
            sum[v] += filter * vec_load(a->x + two + v * LANES);
            vec_store(y, vec_load(y) + filter * x[v]);
        }
    }
    UNROLL
    for (int v = 0; v < vectors; v++) vec_store(a->y + one * f + j + v * LANES, sum[v]);
    return i;
}

void WL_SIMD_NAME(wl_filter_table_conv)(const struct wl_filter_args *a, const struct wl_filter_table *t,
                                        const float *table, int64_t from, int64_t to)
{
    const int64_t f = a->f, whole = f - f % (GROUP * LANES), end = a->pair_start[to];
    memset(a->y + a->atom_start[from] * f, 0, (size_t)((a->atom_start[to] - a->atom_start[from]) * f) * sizeof(float));
    for (int64_t p = a->pair_start[from]; p < end; p += BLOCK) {
        const int64_t n = end - p < BLOCK ? end - p : BLOCK;
        struct taps taps;
        taps_of(a, t, p, n, &taps);
        for (int64_t i = 0, next = 0; i < n; i = next) {
            for (int64_t j = 0; j < whole; j += GROUP * LANES) next = spread_one(a, &taps, table, p, i, n, j, GROUP);
            for (int64_t j = whole; j < f; j += LANES) next = spread_one(a, &taps, table, p, i, n, j, 1);
        }
    }
}

/* Features [j, j + 16) of a pair: of dx, and of the table's gradient. */
INLINE void gather_one(const struct wl_filter_grad *g, const float weight[TAPS], int64_t one, int64_t two,
                       const float *row, float *d_row)
{
    const int64_t f = g->of.f;
    const vec to_one = vec_load(g->dy + one), to_two = vec_load(g->dy + two);
    const vec d = to_one * vec_load(g->of.x + two) + to_two * vec_load(g->of.x + one);
    vec filter = { 0 };
    UNROLL
    for (int k = 0; k < TAPS; k++) {
        filter += weight[k] * vec_load(row + k * f);
        vec_store(d_row + k * f, vec_load(d_row + k * f) + weight[k] * d);
    }
    vec_store(g->dx + one, vec_load(g->dx + one) + filter * to_two);
    vec_store(g->dx + two, vec_load(g->dx + two) + filter * to_one);
}

void WL_SIMD_NAME(wl_filter_table_backward)(const struct wl_filter_grad *g, const struct wl_filter_table *t,
                                            const float *table, int64_t from, int64_t to, int64_t first, int64_t last,
                                            float *d_table)
{
    const struct wl_filter_args *a = &g->of;
    const int64_t f = a->f, end = a->pair_start[to];
    const size_t bytes = (size_t)(last - first) * sizeof(float);
    for (int64_t k = 0; k < t->nodes; k++) memset(d_table + k * f + first, 0, bytes);
    for (int64_t i = a->atom_start[from]; i < a->atom_start[to]; i++) memset(g->dx + i * f + first, 0, bytes);
    for (int64_t p = a->pair_start[from]; p < end; p += BLOCK) {
        const int64_t n = end - p < BLOCK ? end - p : BLOCK;
        struct taps taps;
        taps_of(a, t, p, n, &taps);
        for (int64_t i = 0; i < n; i++) {
            const int64_t one = a->pair[2 * (p + i)] * f, two = a->pair[2 * (p + i) + 1] * f, row = taps.row[i];
            float weight[TAPS];
            for (int k = 0; k < TAPS; k++) weight[k] = taps.weight[k][i];
            for (int64_t j = first; j < last; j += LANES)
                gather_one(g, weight, one + j, two + j, table + row + j, d_table + row + j);
        }
    }
}

void WL_SIMD_NAME(wl_filter_nodes_backward)(const struct wl_filter_args *a, const struct wl_filter_packed *packed,
                                            const struct wl_filter_table *t, int64_t from, int64_t to,
                                            const struct wl_filter_rows *rows, const float *d_table, float *block,
                                            const struct wl_filter_sums *sums)
{
    const int64_t f = a->f;
    for (int64_t k = from; k < to; k += BLOCK) {
        const int64_t n = to - k < BLOCK ? to - k : BLOCK;
        double distance[BLOCK];
        nodes_of(t, k, n, distance);
        layers_backward(a, packed, distance, n, rows->hidden + k * f, rows->slopes + k * f, d_table + k * f, block,
                        sums);
    }
}
