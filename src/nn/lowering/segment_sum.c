#include "nn/lowering/rows.h"

static const struct wl_segment_sum_kernels *kernels(const struct wl_step *s) { return wl_rows_own(s)->kernels; }

static int segment_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_node *n = s->node;
    const int32_t *start = wl_rows_at(s, r, WL_ROWS_IN + 1);
    const int64_t room = n->out->dims.d[0];
    const int64_t segments = wl_rows_count(s, r, n->rows);
    kernels(s)->forward(segments, room, n->out->dims.d[1], start, wl_rows_at(s, r, WL_ROWS_IN),
                        wl_rows_at(s, r, WL_ROWS_OUT));
    return 0;
}

static int segment_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const int64_t segments = wl_rows_count(s, r, s->node->rows);
    kernels(s)->backward(segments, s->node->out->dims.d[1], wl_rows_at(s, r, WL_ROWS_IN + 1),
                         wl_rows_at(s, r, WL_ROWS_DOUT), wl_rows_at(s, r, WL_ROWS_DIN));
    return 0;
}

const struct wl_rows_uses wl_rows_uses_segment_sum = { .gradients = 1, .not_read = 1 };

const struct wl_rows_op wl_rows_segment_sum = { &wl_rows_uses_segment_sum, segment_run, segment_backward_run };
