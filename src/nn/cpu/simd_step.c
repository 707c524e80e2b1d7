#include "nn/cpu/simd_step.h"

#include <string.h>

struct wl_step *wl_simd_step_emit(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                                  wl_step_run_fn *run)
{
    struct wl_step *s = wl_step_emit(p, n, pass, when, run);
    s->implementation = wl_strf(p->arena, "simd:%s", wl_simd()->name);
    return s;
}

struct wl_dropout_mask wl_simd_step_mask(const struct wl_dropout *d)
{
    return (struct wl_dropout_mask) { .key = d->key,
                                      .update = (uint64_t)d->update,
                                      .drop = d->drop,
                                      .scale = (float)WL_DROP_STEPS / (float)(WL_DROP_STEPS - d->drop) };
}

struct wl_buf *wl_simd_step_scratch(struct wl_program *p, size_t bytes)
{
    const size_t stride = (bytes + WL_ALIGN - 1) / WL_ALIGN * WL_ALIGN;
    const int64_t threads = omp_get_max_threads();
    return wl_buf_new(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(threads, (int64_t)stride), NULL, (size_t)threads * stride);
}

static int column_sum_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_buf *dy = s->uses[0].buf;
    const struct wl_simd_loops *rows = wl_simd_step_loops(dy);
    const struct wl_vectors m = wl_vectors_of(s->node->out);
    const size_t size = wl_dtype_bytes(dy->dtype);
    float *db = wl_use_at(s, r, 1);
    const int parts = omp_get_max_threads();
#pragma omp parallel for schedule(static)
    for (int i = 0; i < parts; i++) {
        const int64_t from = wl_simd_step_column_cut(m.f, i, parts),
                      n = wl_simd_step_column_cut(m.f, i + 1, parts) - from;
        memset(db + from, 0, (size_t)n * sizeof *db);
        for (int64_t row = 0; row < m.n; row++)
            rows->add_row(n, (const char *)dy->at + (size_t)(row * m.f + from) * size, db + from);
    }
    return 0;
}

void wl_simd_step_column_sum(struct wl_program *p, const struct wl_node *n, struct wl_buf *dy, struct wl_buf *db)
{
    struct wl_step *s = wl_simd_step_emit(p, n, "bias", WL_TRAIN, column_sum_run);
    wl_step_reads(p, s, dy);
    wl_step_writes(p, s, db);
}
