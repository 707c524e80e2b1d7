#include "nn/ref/ref.h"

void wl_ref_embed(int64_t rows, int64_t f, const int32_t *index, const wl_real *w, wl_real *y)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < f; j++) y[r * f + j] = w[index[r] * f + j];
}

void wl_ref_embed_backward(int64_t rows, int64_t entries, int64_t f, const int32_t *index, const wl_real *dy,
                           wl_real *dw)
{
    for (int64_t i = 0; i < entries * f; i++) dw[i] = 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < f; j++) dw[index[r] * f + j] += dy[r * f + j];
}
