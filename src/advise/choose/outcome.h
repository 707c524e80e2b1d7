/* Quantities of a setting from ln T and ln P. */
#ifndef WL_ADVISE_CHOOSE_OUTCOME_H
#define WL_ADVISE_CHOOSE_OUTCOME_H

#include "advise/choose/choose.h"

/* What a quantity needs of input and options, for one setting. */
struct wl_choose_context {
    const struct wl_choose_input *in;
    const struct wl_choose_options *o;
    size_t *group; /* [n] of each setting */
};

/* ln of a quantity at ln t (time per unit of work) and ln P of setting i, whose ln work is `ln_work`. */
double wl_choose_ln(const struct wl_choose_context *c, enum wl_choose_quantity q, size_t i, double ln_work, double t,
                    double p);

/* Derivatives by ln t and ln P there. */
struct wl_choose_gradient {
    double t, p;
};
struct wl_choose_gradient wl_choose_gradient(const struct wl_choose_context *c, enum wl_choose_quantity q, size_t i,
                                             double t, double p);

/* Is it linear in ln t and ln P for all settings? */
bool wl_choose_is_linear(const struct wl_choose_options *o, enum wl_choose_quantity q);

/* The draws of ln of a quantity of setting i. */
void wl_choose_draws(const struct wl_choose_context *c, enum wl_choose_quantity q, size_t i,
                     double out[WL_JOINT_DRAWS]);

/* Posterior mean of ln of a quantity: exact where it is linear, else by the draws about the tangent. */
double wl_choose_mean(const struct wl_choose_context *c, enum wl_choose_quantity q, size_t i);

/* The same from the means of the setting's runs alone, NAN where it has none. */
double wl_choose_raw_mean(const struct wl_choose_context *c, enum wl_choose_quantity q, size_t i);

/* Expected variance of ln of a quantity between runs of setting i. */
double wl_choose_run_variance(const struct wl_choose_context *c, enum wl_choose_quantity q, size_t i);

#endif
