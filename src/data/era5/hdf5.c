#include "data/era5/internal.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void wl_hdf5_lock(void)
{
    pthread_mutex_lock(&lock);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* it would print by itself */
}

void wl_hdf5_unlock(void) { pthread_mutex_unlock(&lock); }

/* The first one met from below says it best. */
static herr_t keep_text(unsigned n, const H5E_error2_t *error, void *text)
{
    (void)n;
    snprintf(text, 256, "%s", error->desc);
    return 1;
}

int wl_hdf5_fail(struct wl_err *e, const char *fmt, ...)
{
    char text[256] = "no reason given";
    struct wl_err own = { 0 };
    va_list ap;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_text, text);
    va_start(ap, fmt);
    wl_failv(&own, WL_ELIB, fmt, ap);
    va_end(ap);
    return wl_fail(e, WL_ELIB, "%s: HDF5: %s", own.msg, text);
}
