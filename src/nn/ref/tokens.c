#include "nn/ref/ref.h"

void wl_ref_embed_tokens(struct wl_lookup l, const int32_t *tokens, const wl_real *word, const wl_real *position,
                         const wl_real *segment, wl_real *y)
{
    for (int64_t i = 0; i < l.n; i++)
        for (int64_t j = 0; j < l.f; j++)
            y[i * l.f + j] = word[tokens[i] * l.f + j] + position[i % l.s * l.f + j] + segment[j];
}

void wl_ref_embed_tokens_backward(struct wl_lookup l, const int32_t *tokens, const wl_real *dy, wl_real *dword,
                                  wl_real *dposition, wl_real *dsegment)
{
    for (int64_t i = 0; i < l.n; i++)
        for (int64_t j = 0; j < l.f; j++) {
            wl_real d = dy[i * l.f + j];
            dword[tokens[i] * l.f + j] += d;
            dposition[i % l.s * l.f + j] += d;
            dsegment[j] += d;
        }
}

void wl_ref_gather(struct wl_gather g, const int32_t *positions, const wl_real *x, wl_real *y)
{
    for (int64_t i = 0; i < g.n * g.p; i++)
        for (int64_t j = 0; j < g.f; j++) y[i * g.f + j] = x[(i / g.p * g.s + positions[i]) * g.f + j];
}

void wl_ref_gather_backward(struct wl_gather g, const int32_t *positions, const wl_real *dy, wl_real *dx)
{
    for (int64_t i = 0; i < g.n * g.s * g.f; i++) dx[i] = 0;
    for (int64_t i = 0; i < g.n * g.p; i++)
        for (int64_t j = 0; j < g.f; j++) dx[(i / g.p * g.s + positions[i]) * g.f + j] += dy[i * g.f + j];
}
