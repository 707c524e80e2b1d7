/* Sufficient statistics of runs. */
#ifndef WL_LAW_HIER_REDUCE_H
#define WL_LAW_HIER_REDUCE_H

#include "law/hier/hier.h"

/* Runs of one configuration that have the same number of epochs: equal weights at any sigma. */
struct wl_hier_class {
    size_t config, epochs, runs;
    double mean, sum_squares; /* of their means of ln(response), about `mean` */
};

/* The means y_i of configurations and their variances at one sigma, and the part of the log likelihood that the
 * scatter of runs about them has; a constant is left out. y and variance: [n_configs]. */
double wl_hier_within(const struct wl_hier_data *d, double sigma, double *y, double *variance);

#endif
