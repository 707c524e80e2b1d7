#include "nn/ref/ref.h"

#include <string.h>

/* The part [from, to) of a window that lies inside the image, along one axis. */
struct span {
    int64_t from, to;
};

static struct span covered(int64_t out, int64_t stride, int64_t pad, int64_t kernel, int64_t size)
{
    int64_t from = out * stride - pad, to = from + kernel;
    return (struct span) { from < 0 ? 0 : from, to > size ? size : to };
}

/* Calls visit for each window of each image with the rows and columns it covers. `x` and `y` are the offsets of the
 * image and of the output element. */
struct visit {
    const struct wl_window *v;
    struct span rows, cols;
    int64_t x, y;
};

static void each_window(const struct wl_window *v, void (*visit)(const struct visit *at, void *with), void *with)
{
    for (int64_t image = 0; image < v->n * v->c; image++)
        for (int64_t p = 0; p < v->p; p++)
            for (int64_t q = 0; q < v->q; q++) {
                struct visit at = {
                    .v = v,
                    .rows = covered(p, v->stride[0], v->pad[0], v->r, v->h),
                    .cols = covered(q, v->stride[1], v->pad[1], v->s, v->w),
                    .x = image * v->h * v->w,
                    .y = (image * v->p + p) * v->q + q,
                };
                visit(&at, with);
            }
}

/* What the visits read and write: forward x -> y, backward dy -> dx. */
struct arrays {
    const wl_real *x, *dy;
    wl_real *y, *dx;
    bool exclude_pad;
};

static int64_t index_of_max(const struct visit *at, const wl_real *x)
{
    int64_t best = -1;
    for (int64_t i = at->rows.from; i < at->rows.to; i++)
        for (int64_t j = at->cols.from; j < at->cols.to; j++) {
            int64_t here = at->x + i * at->v->w + j;
            if (best < 0 || x[here] > x[best]) best = here;
        }
    return best;
}

static void max_forward(const struct visit *at, void *with)
{
    struct arrays *a = with;
    a->y[at->y] = a->x[index_of_max(at, a->x)];
}

static void max_backward(const struct visit *at, void *with)
{
    struct arrays *a = with;
    a->dx[index_of_max(at, a->x)] += a->dy[at->y];
}

static double divisor(const struct visit *at, bool exclude_pad)
{
    int64_t inside = (at->rows.to - at->rows.from) * (at->cols.to - at->cols.from);
    return (double)(exclude_pad ? inside : at->v->r * at->v->s);
}

static void avg_forward(const struct visit *at, void *with)
{
    struct arrays *a = with;
    double sum = 0;
    for (int64_t i = at->rows.from; i < at->rows.to; i++)
        for (int64_t j = at->cols.from; j < at->cols.to; j++) sum += (double)a->x[at->x + i * at->v->w + j];
    a->y[at->y] = (wl_real)(sum / divisor(at, a->exclude_pad));
}

static void avg_backward(const struct visit *at, void *with)
{
    struct arrays *a = with;
    wl_real share = (wl_real)((double)a->dy[at->y] / divisor(at, a->exclude_pad));
    for (int64_t i = at->rows.from; i < at->rows.to; i++)
        for (int64_t j = at->cols.from; j < at->cols.to; j++) a->dx[at->x + i * at->v->w + j] += share;
}

static void clear_image(const struct wl_window *v, wl_real *dx)
{
    memset(dx, 0, (size_t)(v->n * v->c * v->h * v->w) * sizeof *dx);
}

void wl_ref_max_pool(const struct wl_window *v, const wl_real *x, wl_real *y)
{
    each_window(v, max_forward, &(struct arrays) { .x = x, .y = y });
}

void wl_ref_max_pool_backward(const struct wl_window *v, const wl_real *x, const wl_real *dy, wl_real *dx)
{
    clear_image(v, dx);
    each_window(v, max_backward, &(struct arrays) { .x = x, .dy = dy, .dx = dx });
}

void wl_ref_avg_pool(const struct wl_window *v, bool exclude_pad, const wl_real *x, wl_real *y)
{
    each_window(v, avg_forward, &(struct arrays) { .x = x, .y = y, .exclude_pad = exclude_pad });
}

void wl_ref_avg_pool_backward(const struct wl_window *v, bool exclude_pad, const wl_real *dy, wl_real *dx)
{
    clear_image(v, dx);
    each_window(v, avg_backward, &(struct arrays) { .dy = dy, .dx = dx, .exclude_pad = exclude_pad });
}
