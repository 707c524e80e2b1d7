/* A model of data-parallel training on V100s, for simulated campaigns. It measures nothing: every number below is an
 * assumption, chosen to reproduce the exponents of Table 2 of Frey et al. 2022.
 *
 *   epoch time   t = (W s(f) / N + c) e^noise,  s(f) = phi f_max / f + 1 - phi
 *   clock        f = the lower of the lock and what the cap allows: P(f) <= cap
 *   power        P = P_idle + busy (P_full - P_idle) (f / f_max)^2.5,  busy = W s(f) / (N t)
 *   utilisation  its value at full load x busy, with autocorrelated noise that grows as busy falls
 */
#ifndef FREY2022_JOB_H
#define FREY2022_JOB_H

#include "base/base.h"

struct network {
    const char *name;
    double epoch_s;    /* W: epoch on one uncapped worker */
    double overhead;   /* c / W */
    double clocked;    /* phi: share of the work that waits for the SM clock */
    double full_w;     /* board power while computing at full clock */
    double sm, memory; /* utilisation while computing, % */
    double local_batch, samples;
    double loss0, loss1; /* validation loss before training and after much of it */
};
extern const struct network networks[]; /* ends with name NULL */

/* One configuration. */
struct setting {
    const struct network *network;
    double workers, cap_w, clock_mhz;
};

/* Its epochs, without noise. */
struct job {
    double clock_mhz; /* achieved */
    double epoch_s;
    double busy;    /* share of the epoch that computes */
    double power_w; /* mean of one board */
};
struct job job_of(const struct setting *s);

/* Noise of one run, keyed by position, so that any run can be generated alone. */
struct run_noise {
    uint64_t key;
    double of_config, of_run; /* factors on time */
};
struct run_noise run_noise_of(const struct setting *s, uint64_t seed, int64_t repeat);
double epoch_factor(const struct run_noise *noise, int64_t epoch);   /* of one epoch, including run and configuration */
double device_factor(const struct run_noise *noise, int64_t device); /* of a board's power relative to the mean */

/* n utilisation readings of a board, %. */
void utilisation(const struct job *job, double at_full, const struct run_noise *noise, int64_t device, double *v,
                 size_t n);

double validation_loss(const struct setting *s, const struct run_noise *noise, int64_t epoch);

#endif
