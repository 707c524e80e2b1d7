/* The two functions of Fortran that the archives of LAPACK and BLAS call, for programs that have them inside
 * (-Dblas=linked -Dprefer_static=true): such a program needs no run-time library of gfortran. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

void xerbla_(const char *routine, const int *argument, size_t n) __attribute__((noreturn));
void _gfortran_concat_string(size_t n, char *out, size_t n_a, const char *a, size_t n_b, const char *b);

/* An argument that is not allowed is our own bug; LAPACK's own function would print and end the process. */
void xerbla_(const char *routine, const int *argument, size_t n)
{
    char what[64];
    snprintf(what, sizeof what, "LAPACK's %.*s takes argument %d", (int)(n < 16 ? n : 16), routine, *argument);
    wl_check_failed(what, __FILE__, __LINE__);
}

static size_t copy(char *out, size_t room, const char *text, size_t n)
{
    const size_t taken = n < room ? n : room;
    memcpy(out, text, taken);
    return taken;
}

/* a // b, cut off or padded with blanks to n characters: as gfortran 8 and later call it. */
void _gfortran_concat_string(size_t n, char *out, size_t n_a, const char *a, size_t n_b, const char *b)
{
    size_t at = copy(out, n, a, n_a);
    at += copy(out + at, n - at, b, n_b);
    memset(out + at, ' ', n - at);
}
