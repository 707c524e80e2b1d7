#include "report/sections/curve.h"

#include <math.h>

static void grow_curve(struct wl_curve *c, size_t n, struct wl_arena *a)
{
    if (n <= c->n) return;
    if (n > c->cap) {
        size_t cap = 2 * n;
        struct wl_curve wider = { c->n,
                                  cap,
                                  wl_new_array(a, double, cap),
                                  wl_new_array(a, double, cap),
                                  wl_new_array(a, double, cap),
                                  wl_new_array(a, size_t, cap) };
        for (size_t i = 0; i < c->n; i++) {
            wider.sum[i] = c->sum[i];
            wider.lo[i] = c->lo[i];
            wider.hi[i] = c->hi[i];
            wider.count[i] = c->count[i];
        }
        *c = wider;
    }
    c->n = n;
}

void wl_curve_add(struct wl_curve *c, double epoch, double value, struct wl_arena *a)
{
    enum { MAX_EPOCHS = 1000000 };
    if (!(epoch >= 1 && epoch <= MAX_EPOCHS) || !isfinite(value)) return;
    size_t i = (size_t)epoch - 1;
    grow_curve(c, i + 1, a);
    c->lo[i] = c->count[i] ? fmin(c->lo[i], value) : value;
    c->hi[i] = c->count[i] ? fmax(c->hi[i], value) : value;
    c->sum[i] += value;
    c->count[i]++;
}
