/* pixels, written in the type of the plan's values at once: 1 byte read and 2 or 4 written for each. */
#include "nn/cpu/simd_step.h"

#include "nn/lowering/step.h"

enum { PIECE = 2048 }; /* numbers that stay in the first cache between the loops */

static void normalise(int64_t n, float scale, float shift, const uint8_t *restrict x, float *restrict y)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)x[i] * scale + shift;
}

/* A task is a piece of a channel of an image. */
static int pixels_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)r, (void)e;
    const struct wl_pixel_map m = wl_pixel_map(s->node);
    const struct wl_buf *y = s->uses[1].buf;
    const uint8_t *x = s->uses[0].buf->at;
    const int64_t pieces = (m.area + PIECE - 1) / PIECE;
#pragma omp parallel for schedule(static)
    for (int64_t task = 0; task < m.n * m.c * pieces; task++) {
        const int64_t plane = task / pieces, from = task % pieces * PIECE, at = plane * m.area + from;
        const int64_t n = m.area - from < PIECE ? m.area - from : PIECE;
        float piece[PIECE];
        normalise(n, m.scale[plane % m.c], m.shift[plane % m.c], x + at, piece);
        wl_simd_step_loops(y)->narrow(n, piece, (char *)y->at + (size_t)at * wl_dtype_bytes(y->dtype));
    }
    return 0;
}

static int pixels(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_value(p, &n->out->dims);
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, pixels_run, WL_BUFS(p->value[n->in[0]->id]), WL_BUFS(y));
    return 0;
}

const struct wl_op_rules wl_cpu_op_pixels = { pixels };
