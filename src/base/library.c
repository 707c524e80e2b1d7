#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

static void close_library(void *handle) { dlclose(handle); }

/* The first that opens; e has the loader's reason for the first that does not. */
static void *open_first(struct wl_library *out, const char *const *names, struct wl_arena *a, struct wl_err *e)
{
    bool told = false;
    for (; *names; names++) {
        void *handle = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (handle) {
            out->path = wl_strdup(a, *names);
            wl_defer(a, close_library, handle);
            return handle;
        }
        const char *why = dlerror();
        if (!told) wl_fail(e, WL_EUNAVAIL, "%s", why ? why : *names);
        told = true;
    }
    return NULL;
}

int wl_library_open(struct wl_library *out, const char *named, const char *const *names,
                    const struct wl_symbol *symbols, size_t n, void *functions, struct wl_arena *a, struct wl_err *e)
{
    const char *const only[] = { named, NULL };
    void *handle = open_first(out, named ? only : names, a, e);
    if (!handle) return WL_EUNAVAIL;
    for (size_t i = 0; i < n; i++) {
        void *found = dlsym(handle, symbols[i].name);
        if (!found && symbols[i].required) return wl_fail(e, WL_ELIB, "%s has no %s", out->path, symbols[i].name);
        memcpy((char *)functions + symbols[i].at, &found, sizeof found);
    }
    out->simulated = dlsym(handle, "wattlaw_simulated") != NULL;
    return 0;
}
