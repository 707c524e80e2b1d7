/* Shared libraries opened at run time. */
#ifndef WL_BASE_LIBRARY_H
#define WL_BASE_LIBRARY_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* A function of the library and where its pointer goes. */
struct wl_symbol {
    size_t at;                   /* offset in the struct of pointers */
    const char *name, *fallback; /* fallback: an older name of the same function, or NULL */
    bool required;               /* else the pointer is NULL if the library lacks it */
};

struct wl_library_spec {
    const char *path;         /* the only file tried; NULL: `names` */
    const char *const *names; /* tried in this order, NULL-terminated */
    const struct wl_symbol *symbols;
    size_t n;
    const char *simulated_symbol; /* exported by simulations only; NULL: "wattlaw_simulated" */
};

struct wl_library {
    const char *path; /* the opened file */
    bool simulated;   /* exports the simulated_symbol */
};

/* Opens the library and fills in the functions. Closed with the arena. WL_EUNAVAIL: not found, with the loader's reason
 * for the first name; WL_ELIB: a required function is missing. */
int wl_library_open(struct wl_library *out, const struct wl_library_spec *spec, void *functions, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

#endif
