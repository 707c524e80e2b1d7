/* Copies of parameters in 16 bits, which products and convolutions read. The optimizer writes them with the parameters
 * (update.c), 2 bytes a number more; they are made once before the first run after states were written. So a run has no
 * step that copies weights, whatever the number of micro-batches. */
#include "nn/gpu/internal.h"
#include "nn/gpu/layout.h"

#include <stdlib.h>

static const struct wl_gpu_weights_copy *existing_copy(const struct wl_gpu_state *s, const struct wl_buf *master)
{
    for (size_t i = 0; i < s->n_copies; i++)
        if (s->copies[i].master == master) return &s->copies[i];
    return NULL;
}

int wl_gpu_weights(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *t, enum wl_dtype type,
                   const struct wl_gpu_layout *layout, struct wl_buf **out, struct wl_err *e)
{
    struct wl_gpu *g = wl_gpu_of(p);
    struct wl_gpu_state *s = g->state;
    struct wl_buf *master = wl_buf_param(p, t, layout, wl_gpu_layout_bytes(WL_F32, layout, &t->dims));
    *out = master;
    if (type == WL_F32) return 0;
    const struct wl_gpu_weights_copy *copy = existing_copy(s, master);
    if (copy) {
        *out = copy->buf;
        if ((*out)->dtype == type) return 0;
        return wl_fail(e, WL_EINVAL, "%s: %s is read in %s and in %s", n->name, t->name, wl_dtype_name((*out)->dtype),
                       wl_dtype_name(type));
    }
    *out = wl_buf_new(p, WL_MEM_COPY, type, &t->dims, master->layout, wl_gpu_layout_bytes(type, layout, &t->dims));
    WL_GROW(g->arena, s->copies, s->n_copies, s->cap_copies);
    s->copies[s->n_copies++] = (struct wl_gpu_weights_copy) { master, *out };
    return 0;
}

void wl_gpu_forget_weights(struct wl_gpu *g) { g->state->n_copies = 0; }

/* ---- spans of parameters, cut where copies begin and end ---- */

static int by_address(const void *x, const void *y)
{
    const struct wl_gpu_weights_copy *a = x, *b = y;
    const char *at = a->master->at, *other = b->master->at;
    return (at > other) - (at < other);
}

/* The buffers have addresses by now, which they keep. */
static void sort(struct wl_gpu_state *s)
{
    if (s->copies_sorted) return;
    if (s->n_copies) qsort(s->copies, s->n_copies, sizeof *s->copies, by_address);
    s->copies_sorted = true;
}

/* The first copy whose parameter ends after w; NULL: there is none. */
static const struct wl_gpu_weights_copy *first_after(const struct wl_gpu_state *s, const float *w)
{
    size_t low = 0, high = s->n_copies;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const struct wl_buf *b = s->copies[middle].master;
        if ((const char *)b->at + b->bytes <= (const char *)w)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n_copies ? &s->copies[low] : NULL;
}

void wl_gpu_cut_span(struct wl_gpu_state *s, size_t most, struct wl_gpu_span *span)
{
    sort(s);
    span->n = (int64_t)most;
    const struct wl_gpu_weights_copy *c = first_after(s, span->w);
    if (!c) return;
    const float *from = c->master->at;
    size_t n = c->master->bytes / sizeof(float);
    if (from > span->w) {
        n = (size_t)(from - span->w);
    } else {
        WL_CHECK(from == span->w); /* spans are of whole parameters */
        span->copy = c->buf->at;
        if (c->buf->layout) {
            span->channels = (int32_t)wl_gpu_padded_channels(c->master);
            span->padded = (int32_t)wl_gpu_padded_channels(c->buf);
        }
    }
    if (n < most) span->n = (int64_t)n;
}

bool wl_gpu_copies_in_f16(const struct wl_gpu_state *s) { return s->n_copies && s->copies[0].buf->dtype != WL_BF16; }

int wl_gpu_copy_parameters(struct wl_gpu *g, struct wl_err *e)
{
    struct wl_gpu_state *s = g->state;
    int rc = 0;
    sort(s);
    for (size_t i = 0; i < s->n_copies && !rc;) {
        struct wl_gpu_copies a = { .f16 = wl_gpu_copies_in_f16(s) };
        int64_t blocks = 0;
        for (; i < s->n_copies && a.spans < WL_GPU_SPANS; i++) {
            const struct wl_buf *b = s->copies[i].master;
            struct wl_gpu_span *span = &a.span[a.spans++];
            *span = (struct wl_gpu_span) { .w = b->at, .first_block = (int32_t)blocks };
            wl_gpu_cut_span(s, b->bytes / sizeof(float), span);
            blocks += (span->n + WL_GPU_SPAN_BLOCK - 1) / WL_GPU_SPAN_BLOCK;
        }
        const struct wl_gpu_grid grid = { .x = (unsigned)blocks, .threads = WL_GPU_SPAN_THREADS };
        rc = WL_GPU_LAUNCH(&s->copy, &grid, &a, e);
    }
    s->copies_current = !rc;
    return rc;
}
