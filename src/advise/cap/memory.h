/* A remembered curve of another workload as a particle: what the grid says of it, and its residual about that, linear
 * between its points and constant outside. Of the other kind (a curve over caps in a search over clocks) the grid's
 * part remains. */
#ifndef WL_ADVISE_CAP_MEMORY_H
#define WL_ADVISE_CAP_MEMORY_H

#include "advise/cap/curve.h"

enum { WL_ADVISE_CAP_HEAVIEST = 16 }; /* particles that represent a curve */

struct wl_advise_cap_memory {
    enum wl_advise_cap_kind kind;
    const char *device; /* NULL: unknown */
    size_t n;           /* points */
    double u[WL_ADVISE_CAP_MAX], residual_t[WL_ADVISE_CAP_MAX], residual_p[WL_ADVISE_CAP_MAX];
    size_t particle[WL_ADVISE_CAP_HEAVIEST];
    double share[WL_ADVISE_CAP_HEAVIEST]; /* sum 1 */
};

/* Makes a memory of a curve: kind, n, u (ascending) and, in the place of residuals, ln t and ln P are given; share:
 * [WL_ADVISE_CAP_PARTICLES] responsibilities of the particles for it. */
void wl_advise_cap_remember(struct wl_advise_cap_memory *m, const struct wl_advise_cap_particle *grid,
                            const double *share);

/* ln t and ln P (units of the scale) at a ratio of that kind. */
struct wl_advise_cap_point wl_advise_cap_recall(const struct wl_advise_cap_memory *m,
                                                const struct wl_advise_cap_particle *grid, enum wl_advise_cap_kind kind,
                                                double ratio);

/* Linear between the points (x ascending), constant outside. n >= 1. */
double wl_advise_cap_interpolate(const double *x, const double *y, size_t n, double at);

#endif
