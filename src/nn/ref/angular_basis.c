#include "nn/ref/ref.h"

#include <math.h>

void wl_ref_angular_basis(int64_t orders, int64_t from, int64_t to, const wl_real *cosine, wl_real *y)
{
    for (int64_t t = from; t < to; t++) {
        const double c = (double)cosine[t];
        double before = 0, p = 1;
        for (int64_t l = 0; l < orders; l++) {
            y[t * orders + l] = (wl_real)(sqrt((double)(2 * l + 1) / (4 * M_PI)) * p);
            const double next = ((double)(2 * l + 1) * c * p - (double)l * before) / (double)(l + 1);
            before = p;
            p = next;
        }
    }
}
