/* A store so simple that every number of its report can be computed by hand (values.h), and one of power caps. */
#ifndef TESTS_REPORT_KNOWN_ANSWER_STORE_H
#define TESTS_REPORT_KNOWN_ANSWER_STORE_H

#include "store/store.h"

/* A run of three epochs, the first of which lasts twice as long: 4 time_s from start to stop, exactly. */
struct known_answer_run {
    double workers, cap_w;                /* cap_w NAN: none */
    double time_s;                        /* of each epoch but the first */
    double watts;                         /* per worker, constant */
    double accuracy;                      /* val_top1 of the first epoch; each epoch adds .1 */
    double busy_pct, cv_time, cv_dev, cv; /* utilisation as it was derived: shares, not % */
    const char *workload;                 /* NULL: "net" */
    double local_batch;                   /* 0: 32; NAN: not recorded, nor is the global one */
    const char *extra;                    /* settings without a column, a JSON object; NULL: none */
};

/* Six runs of "net" on 1, 4 and 16 workers, local batch 32, 640 samples and 20 updates an epoch. Workers halve the time
 * as they become four: exponent 1/2. Of the two runs at each count one takes 1.25 times and the other 0.8 times the
 * geometric mean, 2880, 1440 and 720 s, with 40 and 60 W a worker. */
enum { KNOWN_ANSWER_RUNS = 6 };
extern const struct known_answer_run known_answer_runs[KNOWN_ANSWER_RUNS];

struct hand {
    const struct known_answer_run *runs;
    size_t n;
    bool estimated, simulated; /* the energies */
    bool no_energy;
};

/* Runs 1 .. n in their order, each an hour after the end of the one before it. Devices: one, whose power has five
 * readings in the middle of each fifth of a run, and so has its utilisation: 10, 20, 30, 40, 50 %. Energies are those
 * of watts, with an interval of 10 % each way and a quarter of it idle. */
int known_answer_store(const char *path, const struct hand *h, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
