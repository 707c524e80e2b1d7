/* Gauss-Hermite quadrature for a standard normal Z: E f(Z) = sum weight[i] f(node[i]), exact for polynomials of degree
 * 2n - 1. Source: Abramowitz and Stegun 1964, table 25.10, nodes times sqrt(2), weights over sqrt(pi). */
#ifndef WL_STATS_QUADRATURE_H
#define WL_STATS_QUADRATURE_H

#include "base/base.h"

struct wl_quadrature {
    size_t n;
    const double *node, *weight; /* [n]; weights sum to 1 */
};
extern const struct wl_quadrature wl_hermite_5, wl_hermite_9;

#endif
