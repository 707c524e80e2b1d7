/* The grid of (tau, sigma) and, at each of its nodes, a Kalman filter for the effects of configurations: an independent
 * part and a random walk over doublings. With V the covariance of the configuration means and V = L L', the filter
 * gives L^-1 v in time linear in the configurations. */
#ifndef WL_LAW_HIER_SCATTER_H
#define WL_LAW_HIER_SCATTER_H

#include "law/hier/hier.h"

struct wl_hier_scatter {
    size_t n, m;      /* nodes, configurations; arrays [m][n] are indexed i * n + q */
    double *tau2;     /* [n] variance of a configuration */
    double *sigma2;   /* [n] of the mean of a run with a typical number of epochs */
    double *ln_prior; /* [n] ln of prior, of the likelihood within configurations, and of |V|^-1/2 (1'V^-1 1)^-1/2 */
    double *ones2;    /* [n] 1'V^-1 1 */
    double *y;        /* [m][n] means of configurations (they depend on sigma where runs differ in their epochs) */
    double *gain;     /* [m][n] of the filter */
    double *r;        /* [m][n] 1 / sd of the innovation */
    double *ones;     /* [m][n] L^-1 1 */
    double *ones_v;   /* [m][n] V^-1 1 */
    /* [m (m - 1) / 2][n] or NULL: the quadratic form of wl_hier_scatter_residual in the differences of D to its last
     * element, by pairs i <= j. Where it has fewer terms than the filter and the means do not depend on sigma. */
    double *contrasts;
    const double *x; /* [m] doublings from the smallest worker count */
    double drift;
};

void wl_hier_scatter_nodes(const struct wl_hier_data *d, const struct wl_hier_prior *p, struct wl_hier_scatter *out,
                           struct wl_arena *a);

/* Keeps the nodes q with keep[q]. */
void wl_hier_scatter_keep(struct wl_hier_scatter *v, const bool *keep);

/* For data minus curve, D = y - s: D'V^-1 D - (1'V^-1 D)^2 / 1'V^-1 1, what remains after a is integrated out. s: [m];
 * quadratic: [n]. */
void wl_hier_scatter_residual(const struct wl_hier_scatter *v, const double *s, double *quadratic);

/* The covariance k of a new configuration's walk with those of the data (x doublings from the smallest worker count):
 * k_v = V^-1 k [m][n], and the sums 1'V^-1 k and k'V^-1 k [n]. */
struct wl_hier_covariance {
    double *k_v, *ones_k, *k_k;
    double walk; /* variance of the walk there, in tau^2 */
};
struct wl_hier_covariance wl_hier_scatter_covariance(const struct wl_hier_scatter *v, double x, struct wl_arena *a);

#endif
