/* bench_accuracy: how often the judgements of src/law are right, on simulated campaigns with fixed seeds. */
#ifndef WL_BENCH_ACCURACY_H
#define WL_BENCH_ACCURACY_H

#include "law/law.h"

#include "../bench.h"

#include <math.h>

/* How much of a part is run: `replicates` campaigns of each cell, and of the cells each `every`th; of forecasts from
 * the `first`th on. */
struct extent {
    size_t replicates, every, first;
};

/* Each prints Markdown tables, then a line for each promise of docs/accuracy.md and docs/metrics.md, and returns how
 * many do not hold. */
int bench_predict(const struct extent *x);
int bench_energy(const struct extent *x);
int bench_verdict(const struct extent *x);
int bench_compare(const struct extent *x);

/* On stderr: `done` of `total` cells, and the time that the others will take. */
void progress(size_t done, size_t total);

/* ---- promises ---- */

/* What is promised of each of several shares (%): at least, or at most, a limit. Each is a share of `campaigns`; chance
 * is allowed three standard errors of the limit. */
struct promise {
    const char *what;
    bool at_most;
    double limit;
    size_t campaigns;
    double worst;
    size_t n, beyond; /* shares, and those beyond the limit without allowance */
    char where[240];  /* the worst one */
};
void promise_add(struct promise *p, double share, const char *where);

/* Prints "PASS: ..." or "FAIL: ..." with the worst share and returns whether it fails; silent without shares. */
int promise_report(const struct promise *p);
int promises_report(const struct promise *p, size_t n);

/* ---- truths ---- */

enum truth_family { TRUTH_POWER, TRUTH_AMDAHL, TRUTH_LOG, TRUTH_LINEAR };

/* t = N^-beta, or 1/N + c + g h(N) with h = log2 N or N; mean power of a worker: 1, or with `idle` that share of it and
 * the rest in proportion to the share of time that computes (N^-.05 for a power law). */
struct truth {
    enum truth_family family;
    double beta, c, g;
    double smallest; /* worker count */
    double idle;     /* 0: power does not matter */
};
const char *truth_name(enum truth_family f);
double truth_ln_time(const struct truth *t, double workers);
double truth_ln_energy(const struct truth *t, double workers); /* per worker */

/* ---- campaigns ---- */

enum { EPOCHS = 5 }; /* of a run where there are several; where their number differs, the median */

/* What is measured; sd are of the logarithm. */
struct design {
    size_t counts, runs; /* worker counts: doublings from the smallest; runs at each, the most where they differ */
    double run_sd;
    bool unequal_runs;   /* 1, 2 ... runs at the worker counts in turn */
    double epoch_sd;     /* 0: one epoch a run */
    bool unequal_epochs; /* 2, 60, 5 and 20 epochs in turn; else EPOCHS */
};
size_t design_runs(const struct design *d, size_t count);
size_t design_epochs(const struct design *d, size_t count, size_t run);

/* Rows are added one by one to a table of at most `room`. */
struct campaign {
    struct wl_observations obs;
    struct wl_arena *arena;
};
struct campaign campaign_new(size_t room);
size_t campaign_add(struct campaign *c, double workers, size_t run, double time_s); /* the row */
void campaign_end(struct campaign *c);                                              /* no more rows */

#endif
