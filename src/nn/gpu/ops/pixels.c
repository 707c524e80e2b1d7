#include "nn/gpu/kernels/pixels.h"

#include "nn/gpu/layout.h"
#include "nn/lowering/step.h"

_Static_assert((int)WL_GPU_PIXEL_CHANNELS == (int)WL_MAX_PIXEL_CHANNELS, "channels of pixels");

struct pixels {
    struct wl_gpu_kernel kernel;
    struct wl_gpu_grid grid;
    struct wl_gpu_pixels args;
};

static int pixels_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct pixels *o = s->context;
    struct wl_gpu_pixels a = o->args;
    a.x = wl_use_at(s, r, 0);
    a.y = wl_use_at(s, r, 1);
    return WL_GPU_LAUNCH(&o->kernel, &o->grid, &a, e);
}

static struct wl_gpu_pixels args_of(const struct wl_node *n, const struct wl_buf *y)
{
    const struct wl_pixel_map m = wl_pixel_map(n);
    struct wl_gpu_pixels a = { .n = m.n,
                               .area = (uint32_t)m.area,
                               .channels = (int32_t)m.c,
                               .padded = (int32_t)(y->layout ? wl_gpu_padded_channels(y) : m.c) };
    for (int64_t c = 0; c < m.c; c++) {
        a.scale[c] = m.scale[c];
        a.shift[c] = m.shift[c];
    }
    return a;
}

static int check_area(const struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    enum { MOST = INT32_MAX };
    const struct wl_dims *d = &n->out->dims;
    if (d->d[2] * d->d[3] <= MOST) return 0;
    return wl_fail(e, WL_EINVAL, "%s: images %s are too large: expected at most 2^31 - 1 pixels", n->name,
                   wl_dims_text(p->arena, d));
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    enum { MOST = 65535 }; /* blocks along y */
    struct wl_buf *y = p->value[n->out->id] = wl_gpu_nhwc_result(p, n);
    struct pixels *o = wl_new(p->arena, struct pixels);
    int rc = check_area(p, n, e);
    if (!rc) rc = wl_gpu_kernel_of(wl_gpu_of(p), "pixels", y->dtype, &o->kernel, e);
    if (rc) return rc;
    o->args = args_of(n, y);
    o->grid = (struct wl_gpu_grid) { .x = (o->args.area + WL_GPU_PIXEL_THREADS - 1) / WL_GPU_PIXEL_THREADS,
                                     .y = (unsigned)(o->args.n < MOST ? o->args.n : MOST),
                                     .threads = WL_GPU_PIXEL_THREADS };
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, pixels_run, WL_BUFS(p->value[n->in[0]->id]), WL_BUFS(y))
        ->context = o;
    return 0;
}

const struct wl_op_rules wl_gpu_op_pixels = { forward };
