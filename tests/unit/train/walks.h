/* A workload unlike images: walks of 2 to 9 steps; the target is a combination of their length and displacement. Data
 * sets that write whole batches, a regression, a metric from outputs, its own options and attributes. */
#ifndef WL_TESTS_TRAIN_WALKS_H
#define WL_TESTS_TRAIN_WALKS_H

#include "train/train.h"

enum { WALKS_TRAIN = 64, WALKS_VAL = 26 }; /* samples */

struct walks_options {
    struct wl_train_opts train;
    const char *data, *save;
    int64_t hidden;
    int64_t bad_val, far; /* from 1; 0: none. A walk of validation that cannot be read; one of training, out of f16 */
    double bias;
};

extern const struct wl_workload walks_workload;

#endif
