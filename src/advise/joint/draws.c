/* Draws of the truths of all settings: a node by systematic sampling, the coefficients of the smooth part, and the
 * effect of each setting given these. */
#include "advise/joint/internal.h"

#include <math.h>

/* Streams of the generator: normals of each response's coefficients and of its settings' effects. */
enum { COEFFICIENTS, EFFECTS, STREAMS };

static uint64_t stream(const struct wl_joint *j, int what, enum wl_joint_response r)
{
    return (j->seed * STREAMS + (uint64_t)what) * WL_JOINT_RESPONSES + r;
}

/* The normal of element i: that of the power is correlated with that of the time by rho. */
static double normal(const struct wl_joint *j, int what, enum wl_joint_response r, uint64_t i)
{
    static const uint64_t key = 20260117;
    const double z = wl_random_normal(key, stream(j, what, r), i);
    if (r == WL_JOINT_TIME || j->rho == 0) return z;
    return j->rho * wl_random_normal(key, stream(j, what, WL_JOINT_TIME), i) + sqrt(1 - j->rho * j->rho) * z;
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

/* Coefficients of a draw, in column q of z [r][BLOCK]. */
static void draw_coefficients(const struct wl_joint *j, enum wl_joint_response r, const struct wl_joint_node *v,
                              size_t draw, double *z, double *x)
{
    const size_t columns = j->basis.r;
    for (size_t k = 0; k < columns; k++) x[k] = normal(j, COEFFICIENTS, r, draw * columns + k);
    wl_joint_solve_transposed(v->l, columns, x);
    for (size_t k = 0; k < columns; k++) z[k * BLOCK + draw % BLOCK] = v->coefficients[k] + v->scale[k] * x[k];
}

static void draw_settings(struct wl_joint *j, enum wl_joint_response r, const struct wl_joint_node *const *nodes,
                          size_t first, const double *z)
{
    struct wl_joint_part *p = &j->part[r];
    const size_t columns = j->basis.r;
    for (size_t i = 0; i < j->n; i++) {
        const double *b = j->basis.b + i * columns;
        double smooth[BLOCK] = { 0 };
        for (size_t k = 0; k < columns; k++)
            for (size_t q = 0; q < BLOCK; q++) smooth[q] += b[k] * z[k * BLOCK + q];
        for (size_t q = 0; q < BLOCK; q++) {
            const double own = wl_joint_own_share(nodes[q], &p->runs[i]);
            p->draws[i * WL_JOINT_DRAWS + first + q] =
                p->base[i] + smooth[q] + own * (p->y[i] - smooth[q]) +
                nodes[q]->tau * sqrt(1 - own) * normal(j, EFFECTS, r, (first + q) * j->n + i);
        }
    }
}

void wl_joint_draw(struct wl_joint *j, struct wl_arena *a)
{
    double *z = wl_new_array(a, double, j->basis.r *BLOCK), *x = wl_new_array(a, double, j->basis.r);
    for (int r = 0; r < WL_JOINT_RESPONSES; r++) {
        struct wl_joint_part *p = &j->part[r];
        const struct wl_joint_node *nodes[BLOCK];
        if (!p->n_nodes) continue;
        p->draws = wl_new_array(a, double, j->n *WL_JOINT_DRAWS);
        for (size_t d = 0; d < WL_JOINT_DRAWS; d++) {
            nodes[d % BLOCK] = node_of(p, position(d, (enum wl_joint_response)r));
            draw_coefficients(j, (enum wl_joint_response)r, nodes[d % BLOCK], d, z, x);
            if (d % BLOCK == BLOCK - 1) draw_settings(j, (enum wl_joint_response)r, nodes, d - (BLOCK - 1), z);
        }
    }
}
