/* The objective, and what one more window is expected to gain. */
#ifndef WL_ADVISE_CAP_GAIN_H
#define WL_ADVISE_CAP_GAIN_H

#include "advise/cap/posterior.h"

struct wl_advise_cap_goal {
    enum wl_advise_cap_objective objective;
    double eta;
    struct wl_advise_cap_limit limit;
    size_t reference;        /* setting; never ruled out by the limit */
    const bool *unavailable; /* [d] settings that cannot be chosen or measured */
};

/* ln J and its derivatives by ln t and ln P (P in units of the scale). */
struct wl_advise_cap_value {
    double ln_j, by_t, by_p;
};
struct wl_advise_cap_value wl_advise_cap_value(const struct wl_advise_cap_goal *g, double ln_t, double ln_p);

/* Knowledge gradient (Frazier et al. 2009): expected fall of ln J of the choice by one more window with that noise at
 * setting i, by the moments of the posterior; 5 x 5 Gauss-Hermite nodes of the innovation of (ln t, ln P). Under a
 * limit it can be negative: a setting just inside falls out. */
double wl_advise_cap_expected_gain(const struct wl_advise_cap_goal *g, const struct wl_advise_cap_posterior *p,
                                   const struct wl_advise_cap_noise *noise, size_t i);

#endif
