/* Gaussian process of ln cost over candidates x = log2(batch):
 *   covariance 25 + .25 z z' + .2025 z^2 z'^2 + .25 exp(-((x - x') / 1.5)^2 / 2),  z = (x - mean x) / 3;
 * constant mean = mean of the observations; noise of one trial .03, .08 or .2 with probability .3, .4, .3. */
#ifndef WL_ADVISE_BATCH_PROCESS_H
#define WL_ADVISE_BATCH_PROCESS_H

#include "advise/batch/batch.h"

struct wl_advise_process {
    size_t n;
    double kernel[WL_ADVISE_BATCH_MAX * WL_ADVISE_BATCH_MAX]; /* [n][n] */
    size_t observed;
    size_t index[WL_ADVISE_BATCH_TRIALS];
    double y[WL_ADVISE_BATCH_TRIALS], extra[WL_ADVISE_BATCH_TRIALS]; /* ln cost; variance besides the noise */
    /* Posterior: moments of the mixture over the noise. */
    double mean[WL_ADVISE_BATCH_MAX], cov[WL_ADVISE_BATCH_MAX * WL_ADVISE_BATCH_MAX];
    double noise_variance;
};

void wl_advise_process_init(struct wl_advise_process *p, const double *batch, size_t n);

/* The posterior given the observations. None: mean 0, covariance of the prior. */
void wl_advise_process_condition(struct wl_advise_process *p);

/* Knowledge gradient: expected fall of the least mean among candidates with free[i], by one more trial at i. */
double wl_advise_process_gain(const struct wl_advise_process *p, const bool *free, size_t i);

#endif
