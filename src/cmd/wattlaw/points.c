#include "cmd/wattlaw/points.h"

#include "law/law.h"

#include <string.h>

static bool is_listed(const struct wl_points *to, double workers)
{
    for (size_t i = 0; i < to->n; i++)
        if (to->workers[i] == workers) return true;
    return false;
}

static int add_points(const char *at, struct wl_points *to, struct wl_arena *a, struct wl_err *e)
{
    static const char word[] = "workers=";
    struct wl_strs values = wl_str_split(a, at + (wl_str_starts(at, word) ? strlen(word) : 0), ',');
    bool valid = wl_str_starts(at, word) && values.n > 0;
    for (size_t i = 0; i < values.n && valid; i++) {
        double v;
        valid = wl_str_to_real(values.v[i], &v) == 0 && v > 0 && v <= WL_LAW_WORKERS_MAX;
        if (!valid || is_listed(to, v)) continue;
        WL_GROW(a, to->workers, to->n, to->cap);
        to->workers[to->n++] = v;
    }
    return valid ? 0
                 : wl_fail(e, WL_EUSAGE,
                           "--at %s: expected workers=N with a positive number up to %g, or several: workers=64,128",
                           at, WL_LAW_WORKERS_MAX);
}

int wl_points_read(const struct wl_strs *at, struct wl_points *out, struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_points) { 0 };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < at->n; i++) rc = add_points(at->v[i], out, a, e);
    return rc;
}
