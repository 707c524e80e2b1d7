/* The Gaussian model of all settings given a particle: means and discrepancy. A setting is a distinct value; vectors
 * hold ln t of settings 0 .. d - 1, then ln P; matrices are column-major. */
#ifndef WL_ADVISE_CAP_MODEL_H
#define WL_ADVISE_CAP_MODEL_H

#include "advise/cap/memory.h"

enum { WL_ADVISE_CAP_SCALES = 2 };
extern const double wl_advise_cap_scale_share[WL_ADVISE_CAP_SCALES]; /* prior probability of a scale of discrepancy, of
                                                                         the grid's particles */

struct wl_advise_cap_model {
    enum wl_advise_cap_kind kind;
    size_t d;                                   /* settings, 1 .. WL_ADVISE_CAP_MAX */
    size_t reference;                           /* of them; particles' ln t are relative to it */
    size_t k;                                   /* particles: the grid, then the remembered curves of this device */
    const struct wl_advise_cap_memory **memory; /* [k - WL_ADVISE_CAP_PARTICLES] */
    double u[WL_ADVISE_CAP_MAX];
    struct wl_advise_cap_particle *grid; /* [WL_ADVISE_CAP_PARTICLES] */
    double *mean;                        /* [k][2d] */
    double *cov[WL_ADVISE_CAP_SCALES];   /* [2d][2d] discrepancy */
};

/* Takes memory for up to `most` settings; finds the memories of a prior (NULL: none) that are of the device. */
int wl_advise_cap_model_alloc(struct wl_advise_cap_model *m, size_t most, const struct wl_advise_cap_prior *prior,
                              const char *device, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ln of the prior probability of particle k with a scale of the discrepancy. prior: NULL: the grid with equal weights.
 */
double wl_advise_cap_ln_prior(const struct wl_advise_cap_model *m, const struct wl_advise_cap_prior *prior, size_t k,
                              size_t scale);

/* ratio: [d] cap / scale or clock / top, > 0. prior: adds its mean residual; may be NULL. */
void wl_advise_cap_model_fill(struct wl_advise_cap_model *m, const double *ratio, size_t d, size_t reference,
                              const struct wl_advise_cap_prior *prior);

/* The knots of u = ln ratio between which mean residuals are linear; constant outside. */
double wl_advise_cap_knot(size_t i);

#endif
