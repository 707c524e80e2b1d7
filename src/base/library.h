/* Shared libraries opened at run time. */
#ifndef WL_BASE_LIBRARY_H
#define WL_BASE_LIBRARY_H

#include "base/base.h"

#include <stddef.h>

/* A function of the library and where its pointer goes. */
struct wl_symbol {
    size_t at; /* offset in the struct of pointers */
    const char *name;
    bool required; /* else the pointer is NULL where the library lacks it */
};

struct wl_library {
    const char *path; /* what was opened */
    bool simulated;   /* a stand-in that says so by a symbol of its own, wattlaw_simulated */
};

/* Opens `named`, or where it is NULL the first of the names (NULL ends them) that the loader finds, and fills in the
 * functions. It is closed with the arena. WL_EUNAVAIL: it is not there; WL_ELIB: it lacks a required function. */
int wl_library_open(struct wl_library *out, const char *named, const char *const *names,
                    const struct wl_symbol *symbols, size_t n, void *functions, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

#endif
