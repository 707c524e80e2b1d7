#include "law/hier/combine.h"

/* Four numbers anywhere in memory; the compiler makes of them what the processor has. */
typedef double four __attribute__((vector_size(4 * sizeof(double)), aligned(sizeof(double)), may_alias));

enum { LANES = 16 };

/* The sums stay in registers over all rows. A multiplication and an addition are rounded each, fused nowhere. */
static inline __attribute__((always_inline)) void combine(const double *row, const double *factor, size_t rows,
                                                          size_t n, double *sum)
{
    size_t q = 0;
    for (; q + LANES <= n; q += LANES) {
        four *to = (four *)(sum + q), a = to[0], b = to[1], c = to[2], d = to[3];
        for (size_t i = 0; i < rows; i++) {
            const four *from = (const four *)(row + i * n + q);
            a += factor[i] * from[0];
            b += factor[i] * from[1];
            c += factor[i] * from[2];
            d += factor[i] * from[3];
        }
        to[0] = a, to[1] = b, to[2] = c, to[3] = d;
    }
    for (; q + 4 <= n; q += 4) {
        four a = *(four *)(sum + q);
        for (size_t i = 0; i < rows; i++) a += factor[i] * *(const four *)(row + i * n + q);
        *(four *)(sum + q) = a;
    }
    for (; q < n; q++)
        for (size_t i = 0; i < rows; i++) sum[q] += factor[i] * row[i * n + q];
}

#ifdef __x86_64__
/* Without FMA, which would round otherwise. */
__attribute__((target("avx2"))) static void combine_avx2(const double *row, const double *factor, size_t rows, size_t n,
                                                         double *sum)
{
    combine(row, factor, rows, n, sum);
}
#endif

void wl_hier_combine(const double *row, const double *factor, size_t rows, size_t n, double *sum)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        combine_avx2(row, factor, rows, n, sum);
        return;
    }
#endif
    combine(row, factor, rows, n, sum);
}
