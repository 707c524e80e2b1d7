#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

static void close_library(void *handle) { dlclose(handle); }

/* The first that opens; e has the loader's reason for the first that does not. */
static void *open_first(struct wl_library *out, const char *const *names, struct wl_arena *a, struct wl_err *e)
{
    bool failed = false;
    for (; *names; names++) {
        void *handle = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (handle) {
            out->path = wl_strdup(a, *names);
            wl_defer(a, close_library, handle);
            return handle;
        }
        const char *why = dlerror();
        if (!failed) wl_fail(e, WL_EUNAVAIL, "%s", why ? why : *names);
        failed = true;
    }
    return NULL;
}

int wl_library_open(struct wl_library *out, const struct wl_library_spec *spec, void *functions, struct wl_arena *a,
                    struct wl_err *e)
{
    const char *const only[] = { spec->path, NULL };
    void *handle = open_first(out, spec->path ? only : spec->names, a, e);
    if (!handle) return WL_EUNAVAIL;
    for (size_t i = 0; i < spec->n; i++) {
        const struct wl_symbol *s = &spec->symbols[i];
        void *found = dlsym(handle, s->name);
        if (!found && s->fallback) found = dlsym(handle, s->fallback);
        if (!found && s->required) return wl_fail(e, WL_ELIB, "%s has no %s", out->path, s->name);
        memcpy((char *)functions + s->at, &found, sizeof found);
    }
    out->simulated = dlsym(handle, spec->simulated_symbol ? spec->simulated_symbol : "wattlaw_simulated") != NULL;
    return 0;
}
