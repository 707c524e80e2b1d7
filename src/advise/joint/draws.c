/* Draws of the truths of all settings: a node by systematic sampling, the coefficients of the smooth part, and the
 * effect of each setting given these. */
#include "advise/joint/internal.h"
#include "stats/stats.h"

#include <math.h>

/* Streams of the generator: normals of each response's coefficients and of its settings' effects. */
enum { COEFFICIENTS, EFFECTS, STREAMS };

static uint64_t stream(const struct wl_joint *j, int what, enum wl_joint_response r)
{
    return (j->seed * STREAMS + (uint64_t)what) * WL_JOINT_RESPONSES + r;
}

static size_t even(size_t n) { return n + n % 2; }

/* Normals of `draw`, n of them, even(n) written: those of the power are correlated by rho with those of the time, which
 * `of_time` holds or, where it is NULL, are not there. */
static void normals(const struct wl_joint *j, int what, enum wl_joint_response r, size_t draw, size_t n, double *out,
                    const double *of_time)
{
    static const uint64_t key = 20260117;
    const size_t m = even(n);
    wl_random_normals(key, stream(j, what, r), draw * m, m, out);
    if (!of_time) return;
    for (size_t i = 0; i < n; i++) out[i] = j->rho * of_time[i] + sqrt(1 - j->rho * j->rho) * out[i];
}

/* Evenly spaced in the weights; of the power in another order, so that the nodes of t and P pair at random. */
static double position(size_t draw, enum wl_joint_response r)
{
    static const double golden = 0.61803398874989485;
    const double x = (double)draw + 0.5;
    return r == WL_JOINT_TIME ? x / WL_JOINT_DRAWS : x * golden - floor(x * golden);
}

static const struct wl_joint_node *node_of(const struct wl_joint_part *p, double u)
{
    size_t k = 0;
    double sum = p->nodes[0].weight;
    while (sum < u && k + 1 < p->n_nodes) sum += p->nodes[++k].weight;
    return &p->nodes[k];
}

/* Draws of one pass over the settings: the inner loop is over them. */
enum { BLOCK = 8 };
_Static_assert(WL_JOINT_DRAWS % BLOCK == 0, "draws come in whole blocks");

/* What a block needs of a response: coefficients [r][BLOCK], effects [BLOCK][even(n)], and the last draw's normals of
 * the coefficients. */
struct block {
    const struct wl_joint_node *node[BLOCK];
    double *z, *effects, *normals;
};

static struct block block_new(const struct wl_joint *j, struct wl_arena *a)
{
    return (struct block) { .z = wl_new_array(a, double, j->basis.r *BLOCK),
                            .effects = wl_new_array(a, double, even(j->n) * BLOCK),
                            .normals = wl_new_array(a, double, even(j->basis.r)) };
}

/* `of_time` is the block of the same draw of the time; NULL: the response does not depend on it. x: [basis.r] */
static void draw_normals(const struct wl_joint *j, enum wl_joint_response r, size_t draw, struct block *b,
                         const struct block *of_time, double *x)
{
    const size_t columns = j->basis.r, q = draw % BLOCK, effects = q * even(j->n);
    const struct wl_joint_node *v = b->node[q] = node_of(&j->part[r], position(draw, r));
    normals(j, COEFFICIENTS, r, draw, columns, b->normals, of_time ? of_time->normals : NULL);
    for (size_t k = 0; k < columns; k++) x[k] = b->normals[k];
    wl_cholesky_backward(v->l, columns, x);
    for (size_t k = 0; k < columns; k++) b->z[k * BLOCK + q] = v->coefficients[k] + v->scale[k] * x[k];
    normals(j, EFFECTS, r, draw, j->n, b->effects + effects, of_time ? of_time->effects + effects : NULL);
}

static void draw_settings(struct wl_joint *j, enum wl_joint_response r, size_t first, const struct block *block)
{
    struct wl_joint_part *p = &j->part[r];
    const size_t columns = j->basis.r;
    for (size_t i = 0; i < j->n; i++) {
        const double *b = j->basis.b + i * columns;
        double smooth[BLOCK] = { 0 };
        for (size_t k = 0; k < columns; k++)
            for (size_t q = 0; q < BLOCK; q++) smooth[q] += b[k] * block->z[k * BLOCK + q];
        for (size_t q = 0; q < BLOCK; q++) {
            const struct wl_joint_node *v = block->node[q];
            const double own = wl_joint_own_share(v, &p->runs[i]);
            p->draws[i * WL_JOINT_DRAWS + first + q] = p->base[i] + smooth[q] + own * (p->y[i] - smooth[q]) +
                                                       v->tau * sqrt(1 - own) * block->effects[q * even(j->n) + i];
        }
    }
}

void wl_joint_draw(struct wl_joint *j, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct block blocks[WL_JOINT_RESPONSES];
    double *x = wl_new_array(scratch, double, j->basis.r);
    for (int r = 0; r < WL_JOINT_RESPONSES; r++) {
        blocks[r] = block_new(j, scratch);
        if (j->part[r].n_nodes) j->part[r].draws = wl_new_array(a, double, j->n *WL_JOINT_DRAWS);
    }
    for (size_t d = 0; d < WL_JOINT_DRAWS; d++)
        for (int r = WL_JOINT_TIME; r < WL_JOINT_RESPONSES; r++) {
            if (!j->part[r].n_nodes) continue;
            const bool depends = r != WL_JOINT_TIME && j->rho != 0;
            draw_normals(j, (enum wl_joint_response)r, d, &blocks[r], depends ? &blocks[WL_JOINT_TIME] : NULL, x);
            if (d % BLOCK == BLOCK - 1) draw_settings(j, (enum wl_joint_response)r, d - (BLOCK - 1), &blocks[r]);
        }
    wl_arena_free(scratch);
}
