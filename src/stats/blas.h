/* BLAS and LAPACKE, opened when the first fit asks for them.
 *
 * Linked in the usual way they would be loaded by every `wattlaw measure` as well: OpenBLAS then maps 30 MB, starts a
 * spinning thread per core before main() and delays fork() until those have ended, next to the job that is measured.
 * docs/adr/041 has the numbers. */
#ifndef WL_STATS_BLAS_H
#define WL_STATS_BLAS_H

#include "base/base.h"

#include <cblas.h>
#include <lapacke.h>

/* What this folder uses, with the types of the headers: blas->dgemv(...) is cblas_dgemv(...). */
struct wl_blas {
    __typeof__(&cblas_dnrm2) dnrm2;
    __typeof__(&cblas_daxpy) daxpy;
    __typeof__(&cblas_dtrsv) dtrsv;
    __typeof__(&cblas_dgemv) dgemv;
    __typeof__(&LAPACKE_dgeqrf) dgeqrf;
    __typeof__(&LAPACKE_dorgqr) dorgqr;
    __typeof__(&LAPACKE_dgesvd) dgesvd;
    __typeof__(&LAPACKE_dtrtri) dtrtri;
    __typeof__(&LAPACKE_dsyev) dsyev;
};

/* The same table at every call, from any thread. WL_EUNAVAIL names the library and the package that has it. */
int wl_blas_open(const struct wl_blas **out, struct wl_err *e) WL_MUST_CHECK;

#endif
