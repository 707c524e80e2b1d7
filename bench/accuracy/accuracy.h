/* bench_accuracy: how often the judgements of src/law are right, on simulated campaigns with fixed seeds. */
#ifndef WL_BENCH_ACCURACY_H
#define WL_BENCH_ACCURACY_H

#include "law/law.h"

#include "../bench.h"

#include <math.h>

/* How much of a part is run: `replicates` campaigns of each cell, and of the cells each `every`th. */
struct extent {
    size_t replicates, every;
};

/* Each prints a Markdown table and returns how many promises (docs/accuracy.md) do not hold. */
int bench_predict(const struct extent *x);
int bench_energy(const struct extent *x);
int bench_verdict(const struct extent *x);
int bench_compare(const struct extent *x);

/* Prints "not so: ..." unless it holds, and returns whether it does not. */
int promise(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Half-width, in %, that chance gives a share of `percent` over n campaigns: three standard errors. */
double chance(double percent, size_t n);

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
