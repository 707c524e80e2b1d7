/* Search for the batch size that reaches a target metric at the least cost, in a few trainings.
 *
 * A trial trains once with one batch until the target, at some cost (energy, time, money, Zeus cost: any positive
 * number). A trial that costs more than a multiple of the best so far is stopped; one can diverge or run out of memory.
 * The model is a Gaussian process of ln cost over x = log2(batch) with a quadratic mean, and three levels of noise:
 * a sum over a fixed grid, no optimizer, no sampling. Constants and derivation: docs/adr/116.
 *
 *     while !(step = next(search)).done:   train with batch step.index, stop it at cost step.limit;  add()
 *
 * Pure: arrays in, structs out. All memory is taken by _new with wl_try_alloc. */
#ifndef WL_ADVISE_BATCH_BATCH_H
#define WL_ADVISE_BATCH_BATCH_H

#include "base/base.h"

enum {
    WL_ADVISE_BATCH_MAX = 64,    /* candidates */
    WL_ADVISE_BATCH_TRIALS = 64, /* trials of one search */
};

struct wl_advise_batch_opts {
    const double *batch; /* [n] candidates, ascending, > 0; copied */
    size_t n;            /* 1 .. WL_ADVISE_BATCH_MAX */
    size_t start;        /* index of the first trial */
    size_t trials;       /* at most, 1 .. WL_ADVISE_BATCH_TRIALS */
    double stop;         /* expected gain of ln cost below which no trial is worth it */
    double stop_at;      /* a trial is stopped at this multiple of the best cost so far, > 1 */
    const double *price; /* [n] price of a trial per unit of its cost, > 0; copied. With it the next trial is the one
                          * with the largest gain per price: of worker counts, where cost is time, the count. NULL: the
                          * one with the largest gain */
};
/* 8 trials, stop .001, stop_at 2. */
struct wl_advise_batch_opts wl_advise_batch_defaults(const double *batch, size_t n, size_t start);

struct wl_advise_batch;
/* WL_EINVAL: an option is out of range (named with its value). WL_ENOMEM. */
int wl_advise_batch_new(struct wl_advise_batch **out, const struct wl_advise_batch_opts *opts, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

enum wl_advise_batch_outcome {
    WL_ADVISE_BATCH_REACHED,       /* the target, at `cost` */
    WL_ADVISE_BATCH_STOPPED,       /* at `cost`, before the target: the batch costs more. Not tried again */
    WL_ADVISE_BATCH_DIVERGED,      /* not tried again; counts as stopped at the limit, or at `cost` if there is none */
    WL_ADVISE_BATCH_OUT_OF_MEMORY, /* nor is any larger one. Says nothing about the cost of others */
};
struct wl_advise_batch_trial {
    size_t index;
    enum wl_advise_batch_outcome outcome;
    double cost; /* > 0; 0 where it is not known (diverged, out of memory) */
};
/* WL_EINVAL: no such batch, a cost that is not positive, too many trials; the search is unchanged then. */
int wl_advise_batch_add(struct wl_advise_batch *s, const struct wl_advise_batch_trial *t,
                        struct wl_err *e) WL_MUST_CHECK;

enum wl_advise_batch_reason {
    /* not done */
    WL_ADVISE_BATCH_START,     /* the first trial */
    WL_ADVISE_BATCH_SMALLER,   /* nothing has trained yet: bisection of what may fit */
    WL_ADVISE_BATCH_EXPLORE,   /* largest expected gain */
    WL_ADVISE_BATCH_NEIGHBOUR, /* a neighbour of the best batch has not been tried */
    /* done */
    WL_ADVISE_BATCH_SETTLED, /* no trial is expected to gain `stop`, and the neighbours of the choice were tried */
    WL_ADVISE_BATCH_SPENT,   /* all trials are used */
    WL_ADVISE_BATCH_NONE,    /* every candidate failed, or all trials did: there is no choice */
};
const char *wl_advise_batch_reason_text(enum wl_advise_batch_reason r);

struct wl_advise_batch_step {
    bool done;
    size_t index; /* candidate of the next trial, or the choice (WL_ADVISE_BATCH_NONE: meaningless) */
    double limit; /* cost at which to stop the trial; INFINITY before the first success */
    double gain;  /* expected fall of ln cost by the trial, or by the best further one */
    enum wl_advise_batch_reason reason;
};
struct wl_advise_batch_step wl_advise_batch_next(struct wl_advise_batch *s);

struct wl_advise_batch_estimate {
    double batch;
    double ln_cost, sd; /* posterior of the mean ln cost; NAN before the first trial that says something */
    double gain;        /* expected fall of ln cost of the choice by one more trial; 0 for a batch that failed */
    size_t reached;     /* trials that did */
    bool failed;        /* one was stopped, diverged or, here or at a smaller one, ran out of memory */
};
/* [opts.n], valid until the next _add. */
const struct wl_advise_batch_estimate *wl_advise_batch_estimates(struct wl_advise_batch *s);

#endif
