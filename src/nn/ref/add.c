#include "nn/ref/ref.h"

void wl_ref_add(int64_t n, const wl_real *a, const wl_real *b, wl_real *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}
