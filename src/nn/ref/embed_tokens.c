#include "nn/ref/ref.h"

void wl_ref_embed_tokens(struct wl_embedding_size l, const int32_t *tokens, const wl_real *word,
                         const wl_real *position, const wl_real *segment, wl_real *y)
{
    for (int64_t i = 0; i < l.n; i++)
        for (int64_t j = 0; j < l.f; j++)
            y[i * l.f + j] = word[tokens[i] * l.f + j] + position[i % l.s * l.f + j] + segment[j];
}

void wl_ref_embed_tokens_backward(struct wl_embedding_size l, const int32_t *tokens, const wl_real *dy, wl_real *dword,
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
