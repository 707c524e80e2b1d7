#include "cmd/wattlaw/points.h"

#include <math.h>
#include <string.h>

static int add_points(const char *at, struct wl_points *to, struct wl_arena *a, struct wl_err *e)
{
    static const char word[] = "workers=";
    struct wl_strs values = wl_str_split(a, at + (wl_str_starts(at, word) ? strlen(word) : 0), ',');
    for (size_t i = 0; i < values.n; i++) {
        WL_GROW(a, to->workers, to->n, to->cap);
        double *v = &to->workers[to->n++];
        if (!wl_str_starts(at, word) || wl_str_to_real(values.v[i], v) || !(*v > 0) || !isfinite(*v))
            return wl_fail(e, WL_EUSAGE,
                           "--at %s: expected workers=N with a positive number, or several: workers=64,128", at);
    }
    return 0;
}

int wl_points_read(const struct wl_strs *at, struct wl_points *out, struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_points) { 0 };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < at->n; i++) rc = add_points(at->v[i], out, a, e);
    return rc;
}
