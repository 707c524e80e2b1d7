/* Cholesky factors of small symmetric positive definite matrices (a few hundred rows at most), without BLAS: A = L L'.
 * Matrices are row-major, n by n; of A only the lower triangle is read. */
#ifndef WL_STATS_CHOLESKY_H
#define WL_STATS_CHOLESKY_H

#include "base/base.h"

/* Replaces the lower triangle of a by L; the upper triangle is scratch. False, with `a` spoilt, where a pivot is not
 * positive (A is not positive definite to working precision, or has a NAN). */
bool wl_cholesky(double *a, size_t n) WL_MUST_CHECK;

/* ln |A| = 2 sum ln L_ii */
double wl_cholesky_ln_det(const double *l, size_t n);

/* x := L^-1 x and x := L'^-1 x; both in turn: A^-1 x. x: [n] */
void wl_cholesky_forward(const double *l, size_t n, double *x);
void wl_cholesky_backward(const double *l, size_t n, double *x);

#endif
