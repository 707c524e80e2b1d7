/* DimeNet's bilinear layer. As it is written, each triplet multiplies a matrix of its own onto its edge's features:
 * bilinear * F^2 numbers. But the sum over the triplets of one edge can be taken in front of the matrix,
 *     y[j->i] = W . sum over k of (s(k,j,i) outer x[k->j]),
 * so the matrix is multiplied once an edge, a dozen times less often, and what is left for a triplet is bilinear * F.
 * Around one atom these sums are a product of two small matrices: the weights s of all its edges, [8 d, d] with d
 * edges, and the rows of x that lead to the atom, which are contiguous.
 *
 * The basis of a triplet is a product of one of its edge and one of its angle: v is multiplied onto the former once an
 * edge (r below), so a triplet takes `orders` vectors of 8. */
#include "nn/lowering/kernels.h"
#include "nn/simd/gemm.h"
#include "nn/simd/levels.h"

/* r [edges,orders,8] of edges [from, to): v multiplied onto their radial basis. vt is v', [orders*radials,8]. */
static void edge_parts(const struct wl_triplet_args *a, const float *vt, int64_t from, int64_t to, float *r)
{
    const int64_t n = a->radials;
    for (int64_t q = from; q < to; q++)
        for (int64_t l = 0; l < a->orders; l++, r += EIGHT) {
            const float *basis = a->radial + (q * a->orders + l) * n;
            vec8 sum = { 0 };
            for (int64_t i = 0; i < n; i++) sum += basis[i] * eight_load(vt + (l * n + i) * EIGHT);
            eight_store(r, sum);
        }
}

/* s [d,d,8] of an atom with edges [first, first + d): s[k][q] for the triplet of edges k and q, 0 where they are one.
 */
static void weights(const struct wl_triplet_args *a, const float *r, int64_t d, int64_t triplet, float *s)
{
    for (int64_t q = 0; q < d; q++)
        for (int64_t k = 0; k < d; k++) {
            vec8 sum = { 0 };
            if (k != q) {
                const float *angular = a->angular + triplet++ * a->orders;
                for (int64_t l = 0; l < a->orders; l++) sum += angular[l] * eight_load(r + (k * a->orders + l) * EIGHT);
            }
            eight_store(s + (k * d + q) * EIGHT, sum);
        }
}

/* z [8 d,f]: the sums in front of the matrix, of all edges around an atom. */
static void join(const struct wl_triplet_args *a, const float *s, int64_t first, int64_t d, float *z)
{
    const int64_t f = a->f;
    for (int64_t j = 0; j < f; j += PANEL)
        for (int64_t i = 0; i < EIGHT * d; i += TILE_ROWS) {
            const struct operands o = {
                .a = s + i, .b = a->x + first * f + j, .row = 1, .col = EIGHT * d, .b_row = f, .k = d
            };
            tile_product(&o, EIGHT * d - i, f - j, false, z + i * f + j, f);
        }
}

/* Atoms [from, *to) whose edges fill a block, and how many edges. */
static int64_t next_block(const struct wl_triplet_args *a, int64_t from, int64_t end, int64_t *to)
{
    for (*to = from + 1; *to < end && a->edge_start[*to + 1] - a->edge_start[from] <= BLOCK;) ++*to;
    return a->edge_start[*to] - a->edge_start[from];
}

/* Where the parts of a block lie in the scratch memory. */
struct parts {
    float *r, *s, *z, *y, *dz, *dr;
};
static struct parts parts_of(const struct wl_triplet_args *a, float *at)
{
    const int64_t edges = BLOCK * a->orders * EIGHT;
    struct parts p = { .r = at, .s = at + edges };
    p.z = p.s + BLOCK * BLOCK * EIGHT;
    p.y = p.z + BLOCK * EIGHT * a->f;
    p.dz = p.y + BLOCK * a->f;
    p.dr = p.dz + BLOCK * EIGHT * a->f;
    return p;
}

/* z of all atoms of a block. */
static void join_block(const struct wl_triplet_args *a, const struct wl_triplet_packed *packed, int64_t from,
                       int64_t to, const struct parts *p)
{
    const int64_t first = a->edge_start[from], r_size = a->orders * EIGHT;
    edge_parts(a, packed->vt, first, a->edge_start[to], p->r);
    for (int64_t i = from; i < to; i++) {
        const int64_t at = a->edge_start[i] - first, d = a->edge_start[i + 1] - a->edge_start[i];
        weights(a, p->r + at * r_size, d, a->triplet_start[i], p->s);
        join(a, p->s, a->edge_start[i], d, p->z + at * EIGHT * a->f);
    }
}

void WL_SIMD_NAME(wl_triplet_conv)(const struct wl_triplet_args *a, const struct wl_triplet_packed *packed,
                                   int64_t from, int64_t to, float *block)
{
    const int64_t f = a->f;
    const struct parts p = parts_of(a, block);
    for (int64_t i = from, next; i < to; i = next) {
        const int64_t n = next_block(a, i, to, &next), first = a->edge_start[i];
        join_block(a, packed, i, next, &p);
        rows_product(n, f, EIGHT * f, p.z, EIGHT * f, packed->w, false, p.y, f);
        for (int64_t q = 0; q < n; q++) {
            const int64_t at = a->reverse[first + q] * f;
            for (int64_t j = 0; j < f; j += LANES)
                vec_store(a->y + at + j, vec_load(a->residual + at + j) + vec_load(p.y + q * f + j));
        }
    }
}

/* Around one atom, from dz [8 d,f]: dx = s' dz, and what s gets goes to dr. */
static void part(const struct wl_triplet_grad *g, const float *s, const float *dz, int64_t i, float *dr)
{
    const struct wl_triplet_args *a = &g->of;
    const int64_t f = a->f, first = a->edge_start[i], d = a->edge_start[i + 1] - first;
    int64_t triplet = a->triplet_start[i];
    for (int64_t j = 0; j < f; j += PANEL)
        for (int64_t k = 0; k < d; k += TILE_ROWS) {
            const struct operands o = {
                .a = s + k * EIGHT * d, .b = dz + j, .row = EIGHT * d, .col = 1, .b_row = f, .k = EIGHT * d
            };
            tile_product(&o, d - k, f - j, false, g->dx + (first + k) * f + j, f);
        }
    for (int64_t q = 0; q < d; q++)
        for (int64_t k = 0; k < d; k++) {
            if (k == q) continue;
            vec sum[EIGHT] = { 0 };
            for (int64_t j = 0; j < f; j += LANES) {
                const vec x = vec_load(a->x + (first + k) * f + j);
#pragma GCC unroll 8
                for (int b = 0; b < EIGHT; b++) sum[b] += x * vec_load(dz + (q * EIGHT + b) * f + j);
            }
            const vec8 ds = sums_of(sum);
            const float *angular = a->angular + triplet++ * a->orders;
            for (int64_t l = 0; l < a->orders; l++) {
                float *at = dr + (k * a->orders + l) * EIGHT;
                eight_store(at, eight_load(at) + angular[l] * ds);
            }
        }
}

/* dvt [orders*radials,8] += what the edges' parts get. */
static void edge_parts_backward(const struct wl_triplet_args *a, int64_t from, int64_t to, const float *dr, float *dvt)
{
    const int64_t n = a->radials;
    for (int64_t q = from; q < to; q++)
        for (int64_t l = 0; l < a->orders; l++, dr += EIGHT)
            for (int64_t i = 0; i < n; i++) {
                float *at = dvt + (l * n + i) * EIGHT;
                eight_store(at, eight_load(at) + a->radial[(q * a->orders + l) * n + i] * eight_load(dr));
            }
}

void WL_SIMD_NAME(wl_triplet_conv_backward)(const struct wl_triplet_grad *g, const struct wl_triplet_packed *packed,
                                            int64_t from, int64_t to, float *block, float *dvt, float *dw)
{
    const struct wl_triplet_args *a = &g->of;
    const int64_t f = a->f, r_size = a->orders * EIGHT;
    const struct parts p = parts_of(a, block);
    for (int64_t i = from, next; i < to; i = next) {
        const int64_t n = next_block(a, i, to, &next), first = a->edge_start[i];
        for (int64_t q = 0; q < n; q++) memcpy(p.y + q * f, g->dy + a->reverse[first + q] * f, (size_t)f * sizeof *p.y);
        join_block(a, packed, i, next, &p);
        columns_product(n, f, EIGHT * f, p.y, f, p.z, EIGHT * f, dw, EIGHT * f);
        rows_product(n, EIGHT * f, f, p.y, f, packed->w, false, p.dz, EIGHT * f);
        memset(p.dr, 0, (size_t)(n * r_size) * sizeof *p.dr);
        for (int64_t j = i; j < next; j++) {
            const int64_t at = a->edge_start[j] - first, d = a->edge_start[j + 1] - a->edge_start[j];
            weights(a, p.r + at * r_size, d, a->triplet_start[j], p.s);
            part(g, p.s, p.dz + at * EIGHT * f, j, p.dr + at * r_size);
        }
        edge_parts_backward(a, first, first + n, p.dr, dvt);
    }
}
