/* Sums over rows at all nodes of (tau, sigma). */
#ifndef WL_LAW_HIER_COMBINE_H
#define WL_LAW_HIER_COMBINE_H

#include <stddef.h>

/* sum[q] += factor[i] * row[i][q], i ascending. row: [rows][n]; sum: [n]. The same bits on every processor. */
void wl_hier_combine(const double *row, const double *factor, size_t rows, size_t n, double *sum);

#endif
