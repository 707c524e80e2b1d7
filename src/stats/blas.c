#include "stats/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Constant, or filled once, under `once`, and constant from then on. */
#ifdef WL_BLAS_LINKED

/* The loader may start OpenBLAS's threads before main: for builds with a BLAS that has none (docs/reference/building.md). */
static const struct wl_blas table = {
    .dnrm2 = cblas_dnrm2,
    .daxpy = cblas_daxpy,
    .dtrsv = cblas_dtrsv,
    .dgemv = cblas_dgemv,
    .dgeqrf = LAPACKE_dgeqrf,
    .dorgqr = LAPACKE_dorgqr,
    .dgesvd = LAPACKE_dgesvd,
    .dtrtri = LAPACKE_dtrtri,
    .dsyev = LAPACKE_dsyev,
};

int wl_blas_open(const struct wl_blas **out, struct wl_err *e)
{
    (void)e;
    *out = &table;
    return 0;
}

#else

struct symbol {
    const char *name;
    size_t at;
};

static const struct symbol blas_symbols[] = {
    { "cblas_dnrm2", offsetof(struct wl_blas, dnrm2) },
    { "cblas_daxpy", offsetof(struct wl_blas, daxpy) },
    { "cblas_dtrsv", offsetof(struct wl_blas, dtrsv) },
    { "cblas_dgemv", offsetof(struct wl_blas, dgemv) },
};

static const struct symbol lapacke_symbols[] = {
    { "LAPACKE_dgeqrf", offsetof(struct wl_blas, dgeqrf) }, { "LAPACKE_dorgqr", offsetof(struct wl_blas, dorgqr) },
    { "LAPACKE_dgesvd", offsetof(struct wl_blas, dgesvd) }, { "LAPACKE_dtrtri", offsetof(struct wl_blas, dtrtri) },
    { "LAPACKE_dsyev", offsetof(struct wl_blas, dsyev) },
};

static struct wl_blas table;
static struct wl_err failure;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Loads all symbols from the first library of the list that has them. */
static int load_symbols(const char *const *libraries, const struct symbol *symbols, size_t n, const char *package,
                        struct wl_err *e)
{
    for (size_t l = 0; libraries[l]; l++) {
        void *handle = dlopen(libraries[l], RTLD_NOW | RTLD_LOCAL);
        size_t found = 0;
        for (; handle && found < n; found++) {
            void *symbol = dlsym(handle, symbols[found].name);
            if (!symbol) break;
            memcpy((char *)&table + symbols[found].at, &symbol, sizeof symbol);
        }
        if (found == n) return 0;
        if (handle) dlclose(handle);
    }
    return wl_fail(e, WL_EUNAVAIL, "%s not found; install it with: sudo apt install %s", libraries[0], package);
}

/* Our matrices are small: threads would only cost. The variable is unset afterwards, so that jobs do not inherit it. */
static void open_all(void)
{
    static const char *const blas[] = { "libblas.so.3", "libcblas.so.3", "libopenblas.so.0", NULL };
    static const char *const lapacke[] = { "liblapacke.so.3", "libopenblas.so.0", NULL };
    bool ours = !getenv("OPENBLAS_NUM_THREADS");
    if (ours) setenv("OPENBLAS_NUM_THREADS", "1", 1);
    int code = load_symbols(blas, blas_symbols, WL_COUNT(blas_symbols), "libblas3", &failure);
    if (code == 0) code = load_symbols(lapacke, lapacke_symbols, WL_COUNT(lapacke_symbols), "liblapacke", &failure);
    failure.code = code;
    if (ours) unsetenv("OPENBLAS_NUM_THREADS");
}

int wl_blas_open(const struct wl_blas **out, struct wl_err *e)
{
    pthread_once(&once, open_all);
    *out = &table;
    return failure.code < 0 ? wl_fail(e, failure.code, "%s", failure.msg) : 0;
}

#endif
