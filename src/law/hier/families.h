/* Curves and the prior densities of their shape parameters. */
#ifndef WL_LAW_HIER_FAMILIES_H
#define WL_LAW_HIER_FAMILIES_H

#include "law/hier/hier.h"

enum { WL_HIER_SHAPES = 2 };

struct wl_hier_box {
    double lo[WL_HIER_SHAPES], hi[WL_HIER_SHAPES];
};

struct wl_hier_curve {
    const char *name, *formula;
    size_t shapes;
    struct wl_hier_box box; /* range of z */
    bool simplex;           /* z0^2 + z1^2 < 1 */
    bool needs_whole;       /* has a term ln N, which must not be negative */
    double (*s)(double workers, double largest, const double *z);
    /* ln of the prior's density in z: the part that depends on z, and the rest. */
    double (*ln_prior)(const double *z, const struct wl_hier_prior *p);
    double (*ln_constant)(const struct wl_hier_prior *p);
};
extern const struct wl_hier_curve wl_hier_curves[WL_HIER_FAMILIES];

#endif
