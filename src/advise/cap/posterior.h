/* Posterior of all settings after windows: for each scale of the discrepancy a mixture over particles of normal
 * distributions with one covariance. */
#ifndef WL_ADVISE_CAP_POSTERIOR_H
#define WL_ADVISE_CAP_POSTERIOR_H

#include "advise/cap/model.h"

/* What windows say about one setting: their precision (inverse covariance of the noise, summed) and precision times
 * values. */
struct wl_advise_cap_evidence {
    size_t windows;
    double precision_t, precision_p, precision_tp;
    double t, p; /* precision-weighted sums: precision * (ln t, ln P) */
};
void wl_advise_cap_observe(struct wl_advise_cap_evidence *v, double ln_t, double ln_p,
                           const struct wl_advise_cap_noise *noise);

/* Windows of all settings as one observation: means of each measured setting and the covariance of their noise. */
struct wl_advise_cap_data {
    size_t n;                            /* measured settings */
    size_t index[2 * WL_ADVISE_CAP_MAX]; /* [2n] into the vectors of the model */
    double y[2 * WL_ADVISE_CAP_MAX];     /* [2n] ln t of them, then ln P */
    double var_t[WL_ADVISE_CAP_MAX], var_p[WL_ADVISE_CAP_MAX], cov_tp[WL_ADVISE_CAP_MAX]; /* [n] */
};
void wl_advise_cap_gather(const struct wl_advise_cap_evidence *v, size_t d, struct wl_advise_cap_data *out);

struct wl_advise_cap_scale {
    size_t n;      /* particles kept */
    double weight; /* of them; both scales sum to 1 */
    double *w;     /* [n] */
    double *mean;  /* [n][2d] */
    double *cov;   /* [2d][2d] */
};
struct wl_advise_cap_posterior {
    size_t d;
    struct wl_advise_cap_scale scale[WL_ADVISE_CAP_SCALES];
    double *m;  /* [2d] mean of the mixture */
    double *v;  /* [2d][2d] its covariance */
    double *s;  /* scratch: [2d][2d] covariance of the windows, its factor */
    double *w;  /* scratch: [2d][2d] L^-1 of the covariance of windows and settings */
    double *lw; /* scratch: [scales][particles] ln of unnormalized weights */
};

int wl_advise_cap_posterior_alloc(struct wl_advise_cap_posterior *p, size_t most, size_t particles, struct wl_arena *a,
                                  struct wl_err *e) WL_MUST_CHECK;

/* prior: as the model was filled with. */
void wl_advise_cap_condition(struct wl_advise_cap_posterior *p, const struct wl_advise_cap_model *model,
                             const struct wl_advise_cap_prior *prior, const struct wl_advise_cap_data *data);

/* ln likelihood, up to a constant, of data under each particle and one scale: out [k]. Leaves the factor in
 * p->s. */
void wl_advise_cap_likelihood(struct wl_advise_cap_posterior *p, const struct wl_advise_cap_model *model, size_t scale,
                              const struct wl_advise_cap_data *data, double *out);

/* P(t_i <= limit t_reference), limit given as ln. */
double wl_advise_cap_below(const struct wl_advise_cap_posterior *p, size_t i, size_t reference, double ln_limit);

/* Variance of ln(t_i / t_reference) under the mixture's moments. */
double wl_advise_cap_slowdown_variance(const struct wl_advise_cap_posterior *p, size_t i, size_t reference);

#endif
