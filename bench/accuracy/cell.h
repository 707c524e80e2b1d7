/* One cell of the coverage of forecasts: a truth, what is measured of it, and the scatter. */
#ifndef WL_BENCH_ACCURACY_CELL_H
#define WL_BENCH_ACCURACY_CELL_H

#include "accuracy.h"

/* sd of ln(mean power), in those of ln(time): of configurations and of runs. */
static const double power_sd = 0.5;

struct cell {
    const struct truth *truth;
    const struct design *design;
    double config_sd;
    enum wl_law_response response;
    size_t number; /* in the order of the tables, from 0 */
    uint64_t key;  /* of the random numbers */
};
double cell_workers(const struct cell *c, size_t count);
double cell_ln_truth(const struct cell *c, double workers); /* ln of time, or of energy */

/* Ratio of the ends of the interval of one who knows the truth's family and every sd, but not its parameters: by
 * Fisher's information at the truth. Without a prior, so it may be wider than wattlaw's. */
double cell_oracle(const struct cell *c, double workers);

#endif
