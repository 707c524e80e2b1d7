#include "nn/cpu/cpu.h"
#include "nn/threads.h"

/* Distances, in elements of a row, between the channels, lines and points of a square. */
struct order {
    int64_t channel, line, point;
};

static struct order order_of(const struct wl_node *n, const struct wl_patch_size *v)
{
    const int64_t s = v->side;
    return n->op == WL_OP_PATCHES ? (struct order) { s * s, s, 1 } : (struct order) { 1, s * v->c, v->c };
}

static void move_line(const struct order *o, int64_t side, float *image, float *row, bool to_image)
{
    for (int64_t q = 0; q < side; q++) {
        float *point = row + q * o->point;
        if (to_image)
            image[q] = *point;
        else
            *point = image[q];
    }
}

/* A task is a line of squares of one image. */
static void move(const struct wl_node *n, float *image, float *rows, bool to_image)
{
    const struct wl_patch_size v = wl_patch_size(n);
    const struct order o = order_of(n, &v);
    const int64_t down = v.h / v.side, across = v.w / v.side, size = v.c * v.side * v.side;
#pragma omp parallel for schedule(static)
    for (int64_t task = 0; task < v.n * down; task++)
        for (int64_t c = 0; c < v.c; c++)
            for (int64_t p = 0; p < v.side; p++) {
                float *line = image + ((task / down * v.c + c) * v.h + task % down * v.side + p) * v.w;
                float *row = rows + task * across * size + c * o.channel + p * o.line;
                for (int64_t x = 0; x < across; x++) move_line(&o, v.side, line + x * v.side, row + x * size, to_image);
            }
}

static void to_rows(const struct wl_node *n, const float *image, float *rows)
{
    move(n, (float *)image, rows, false); /* read only */
}

static void to_image(const struct wl_node *n, const float *rows, float *image)
{
    move(n, image, (float *)rows, true); /* read only */
}

static const struct wl_linear_map patches = { .apply = to_rows, .adjoint = to_image };
static const struct wl_linear_map inverse = { .apply = to_image, .adjoint = to_rows };

const struct wl_op_rules wl_cpu_op_patches = { wl_lower_linear_map, wl_lower_linear_map_backward, .kernels = &patches };
const struct wl_op_rules wl_cpu_op_from_patches = { wl_lower_linear_map, wl_lower_linear_map_backward,
                                                    .kernels = &inverse };
