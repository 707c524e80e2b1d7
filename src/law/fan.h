/* The fan of curves: what a forecast is made of, to draw it. */
#ifndef WL_LAW_FAN_H
#define WL_LAW_FAN_H

#include "law/forecast.h"

/* Over worker counts evenly spaced in ln N. */
struct wl_law_fan {
    size_t n;
    double *workers, *value;          /* [n]; median */
    double *lo, *hi;                  /* [n] 95 %: one run of a new configuration */
    double *config_lo, *config_hi;    /* [n] 95 %: mean of a new configuration */
    double *family[WL_HIER_FAMILIES]; /* [n] median given a family; NULL: its weight is below least_weight */
};

/* n >= 2 points from `from` to `to` workers. */
struct wl_law_fan wl_law_fan(const struct wl_law_posterior *p, double from, double to, size_t n, double least_weight,
                             struct wl_arena *a);

#endif
