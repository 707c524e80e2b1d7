/* NVIDIA's libraries, opened at run time: where they are looked for, which versions serve, what to install. */
#ifndef WL_CUDA_LIBRARY_H
#define WL_CUDA_LIBRARY_H

#include "base/library.h"

/* A file that serves. */
struct wl_gpu_file {
    const char *name;    /* libcublasLt.so.13 */
    int cuda;            /* major version of CUDA that it is built for, which the driver must serve; 0: any */
    const char *package; /* of pip */
    int least;           /* version that serves, as major * 10000 + minor * 100 + patch; others of its major do too */
};

struct wl_gpu_library {
    const char *name;                /* "cuBLAS", as messages call it */
    const struct wl_gpu_file *files; /* newest first; the last has no name */
    const struct wl_symbol *symbols;
    size_t n;
};

/* What was found, for doctor and messages. */
struct wl_gpu_library_facts {
    const char *path;
    int version; /* as struct wl_gpu_file has it */
};

/* Opens the first file that is found below $WATTLAW_CUDA_PATH (CUDA's folder, a virtual environment, site-packages or
 * its folder nvidia), else by the loader, and fills in the functions. Files for a CUDA newer than `cuda` are passed
 * over; 0: not known, all serve. Closed with the arena. WL_EUNAVAIL: there is none, and what to install; WL_ELIB: a
 * function is missing. */
int wl_gpu_library_open(struct wl_library *out, const struct wl_gpu_library *spec, int cuda, void *functions,
                        struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Does the version that an opened library says it has, as `least` is written, suit its name? Else WL_ELIB. */
int wl_gpu_library_check(const struct wl_gpu_library *spec, const struct wl_library *l, int version,
                         struct wl_err *e) WL_MUST_CHECK;

#endif
