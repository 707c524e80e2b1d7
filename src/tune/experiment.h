/* A search over the axes of an experiment file, one after the other, by runs of its campaign.
 *
 * Every axis of [sweep] with several numbers is searched: caps and clocks as by wl_tune_search, counts (threads,
 * batches, workers) and axes of the user's own as ln cost over log2 (advise/batch). The others keep their choice or,
 * before that, the first value of the file (of caps the largest). A trial is one run of the campaign: what is stored is
 * not run again, so a search that was stopped resumes, and a later sweep adds to it. A trial that fails says something
 * too: one that ran out of memory excludes all larger batches. With a target a trial trains until it reaches a metric,
 * and is stopped once it costs twice as much as the best. docs/adr/118 */
#ifndef WL_TUNE_EXPERIMENT_H
#define WL_TUNE_EXPERIMENT_H

#include "campaign/campaign.h"
#include "tune/search.h"
#include "tune/target.h"

enum wl_tune_trial_state {
    WL_TUNE_MEASURED,
    WL_TUNE_SKIPPED, /* cannot be run here */
    WL_TUNE_OUT_OF_MEMORY,
    WL_TUNE_NOT_REACHED, /* it ended, or was stopped, before the target: the cost is what it took */
    WL_TUNE_FAILED,      /* diverged, timed out, or another failure */
};
extern const char *const wl_tune_trial_states[]; /* "measured" ... */

enum { WL_TUNE_TRIALS_MAX = 32 }; /* of an axis */

struct wl_tune_trial {
    size_t value;   /* index of the axis's value */
    int64_t repeat; /* from 1: the search may ask for a value again */
    enum wl_tune_trial_state state;
    const char *why;      /* not measured: why */
    int64_t run;          /* 0: none */
    double t_s, energy_j; /* per sample, per epoch where samples are not known, or to the target; NAN: not measured */
    double p_w;           /* mean power of a capped device; of all devices where the axis is not a cap */
    bool estimated, simulated;
};

struct wl_tune_axis {
    const char *key;                    /* "threads" */
    bool is_cap, is_memory, is_workers; /* is_memory: a larger value needs more memory */
    enum wl_cap_kind kind;
    double *value;                /* [n] ascending */
    const char **text;            /* [n] as in the file */
    size_t n, start;              /* start: the first value of the file; of a cap the largest */
    struct wl_tune_trial *trials; /* [WL_TUNE_TRIALS_MAX] in their order */
    size_t n_trials;
    bool done, chosen; /* chosen: there is a choice */
    size_t choice;
    const char *reason;
    double probability; /* of a cap: that the choice keeps the limit; NAN: no limit */
    double limit;       /* cost at which the next trial is stopped; INFINITY: none */
};

struct wl_tune_experiment {
    const char *store, *campaign; /* of the runs; store NULL: none was run */
    struct wl_tune_axis *axes;    /* in the order of the keys */
    size_t n_axes, runs;          /* runs: made by this call */
    const char *per;              /* times and energies are per "sample", "epoch", "run" or "target" */
};

struct wl_tune_experiment_opts {
    const char *path;
    const struct wl_strs *set;    /* "section.key=value" */
    struct wl_tune_goal goal;     /* `most` 0: 4 values of a cap, 8 of another axis */
    struct wl_tune_target target; /* a trial ends when it reaches it, and its cost is what that took; but for caps */
    bool largest;                 /* search for the largest batch that fits, see wl_tune_largest */
    int64_t batch_step;           /* of it: batches are multiples, 0: 1 */
    const struct wl_signals *signals;
    void (*on_trial)(void *ctx, const struct wl_tune_axis *axis, const struct wl_tune_trial *t); /* (optional) */
    void (*on_tick)(void *ctx, double done, double total, double left_s, const char *note);      /* (optional) */
    void *ctx;
};

/* WL_EINVAL: no axis has several values, one has values that are not numbers, no value of an axis can be measured, a
 * slowdown is limited on an axis that is not a cap. Codes of wl_experiment_read and wl_sweep_run; WL_EINTR: stopped.
 * *out is filled in as far as it got. */
int wl_tune_experiment(const struct wl_tune_experiment_opts *opts, struct wl_tune_experiment *out, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* The objective of a trial, relative to nothing: J of its time and energy. */
double wl_tune_trial_cost(const struct wl_tune_trial *t, const struct wl_tune_goal *goal);

/* How a failed run ended, from its error and the end of its log. */
enum wl_tune_trial_state wl_tune_failure_of(const char *error, const char *log_tail);

#endif
