/* Complete trainings of the workload of walks.h. */
#ifndef WL_TESTS_TRAIN_WALKS_RUN_H
#define WL_TESTS_TRAIN_WALKS_RUN_H

#include "temp_dir.h"
#include "walks.h"

/* What a training with these options printed, errors included; its status is `status`. */
const char *walks_run(struct temp_dir *p, const char *options, int status);

/* The results of one that succeeds, and a number of its epochs. */
const struct wl_json *walks_results(struct temp_dir *p, const char *options);
double walks_of_epoch(const struct wl_json *results, size_t epoch, const char *name);

#endif
