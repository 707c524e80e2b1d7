/* Search for a power cap, or a clock, in a few windows of a running job.
 *
 * A candidate is a cap (or a clock) of the device; a window is an interval in which one candidate is held and the time
 * per unit of work t and the mean power P are measured. The model is about the pairs (ln t, ln P) of all candidates:
 * 3,780 curves of a device with two phases ("particles"), a Gaussian discrepancy about each at two scales, and
 * measurement noise of known standard deviation. Everything is a sum over that grid: no optimizer, no sampling, the
 * same input gives the same output. Constants and derivation: docs/adr/115.
 *
 *     search = new(candidates, reference, objective, limit, noise, prior)
 *     while !(step = next(search)).done:   hold candidate step.index for a window, measure;  add() or fail()
 *     step.index is the choice, step.reason says why the search ended
 *
 * Pure: arrays in, structs out. Nothing here reads a file, sets a cap or prints. All memory is taken by _new, from the
 * arena with wl_try_alloc; afterwards nothing can fail for want of memory. A search belongs to one thread at a time;
 * different searches and one shared prior may be used by several. */
#ifndef WL_ADVISE_CAP_CAP_H
#define WL_ADVISE_CAP_CAP_H

#include "base/base.h"

enum {
    WL_ADVISE_CAP_MAX = 64,         /* candidates */
    WL_ADVISE_CAP_PARTICLES = 3780, /* device curves */
    WL_ADVISE_CAP_MEMORIES = 512,   /* remembered curves that are particles too */
    WL_ADVISE_CAP_KNOTS = 7,
};

/* What the values of candidates are. The same particles serve both: under a cap c the busy phase runs at the clock
 * whose power is c; under a clock lock f = clock / largest clock is given, and the device cannot skip cycles below it.
 * A clock that the device cannot hold within its power limit runs at what the limit allows. */
enum wl_advise_cap_kind {
    WL_ADVISE_POWER_CAP, /* W per device */
    WL_ADVISE_CLOCK,     /* MHz */
};

/* J, to be minimized. t is the time and P the mean power of a candidate, E = P t. */
enum wl_advise_cap_objective {
    WL_ADVISE_MIN_ENERGY, /* E */
    WL_ADVISE_MIN_ZEUS,   /* eta E + (1 - eta) Pmax t, Pmax = scale_w (You et al. 2023) */
    WL_ADVISE_MIN_EDP,    /* E t */
    WL_ADVISE_MIN_ED2P,   /* E t^2 */
    WL_ADVISE_MIN_TIME,   /* t */
};

/* P(t <= (1 + slowdown) t_reference) >= probability. The reference itself always qualifies. */
struct wl_advise_cap_limit {
    double slowdown;    /* >= 0; 0.1: at most 10 % longer than the reference */
    double probability; /* 0: no limit; else in (0, 1), usually .9 */
};

/* A measured curve of another workload, on any device: at least two points with different values. */
struct wl_advise_cap_curve {
    enum wl_advise_cap_kind kind;
    const double *value; /* [n] W or MHz, any order, > 0 */
    const double *ln_t;  /* [n] time per unit of work, any unit (the same in one curve) */
    const double *ln_p;  /* [n] mean power of one device, W */
    size_t n;            /* 2 .. WL_ADVISE_CAP_MAX */
    double scale_w;      /* power limit of the device without a cap, W (its TDP) */
    double top;          /* the device's largest cap, W, or clock, MHz; 0: the largest of `value` */
    const char *group;   /* name of the workload, for messages; may be NULL */
    const char *device;  /* model of the device, "Tesla V100-SXM2-16GB"; NULL: unknown */
};

/* What is known before the first window: weights of the particles, the mean residual of curves about them, and the
 * curves themselves, which become particles in a search on the same model of device. */
struct wl_advise_cap_prior {
    double ln_weight[WL_ADVISE_CAP_PARTICLES];
    double residual[2 /* kind */][2 /* ln t, ln P */][WL_ADVISE_CAP_KNOTS];
    size_t curves[2];                    /* of each kind, that it was learned from */
    struct wl_advise_cap_memory *memory; /* [memories] */
    size_t memories;
};

/* Learns a prior from curves of other workloads; n = 0 gives equal weights. Of more than WL_ADVISE_CAP_MEMORIES curves,
 * evenly chosen ones become particles. WL_EINVAL: a curve that breaks the rules
 * above, with its group, its number and the value. WL_ENOMEM. */
int wl_advise_cap_learn(const struct wl_advise_cap_curve *curves, size_t n, struct wl_advise_cap_prior **out,
                        struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Measurement noise of a window: standard deviation of its mean ln t and of its mean ln P, and their correlation. */
struct wl_advise_cap_noise {
    double sd_t, sd_p; /* > 0 */
    double rho;        /* -0.95 .. 0.95 */
};

struct wl_advise_cap_opts {
    enum wl_advise_cap_kind kind;
    const double *value; /* [n] candidates, W or MHz, strictly ascending, > 0; copied */
    size_t n;            /* 1 .. WL_ADVISE_CAP_MAX */
    const char *device;  /* model of the device, as the curves of a prior have it; NULL: unknown */
    size_t reference;    /* index of the reference (no cap, full clock): what slowdown is relative to */
    double scale_w;      /* power limit of the device without a cap, W; 0: value[n - 1] of caps (clocks must give it) */
    double top;          /* the device's largest clock, MHz; 0: value[n - 1]. Caps: ignored */
    enum wl_advise_cap_objective objective;
    double eta; /* of WL_ADVISE_MIN_ZEUS, 0 .. 1 */
    struct wl_advise_cap_limit limit;
    struct wl_advise_cap_noise noise;
    const struct wl_advise_cap_prior *prior; /* NULL: nothing is known. Must outlive the search */
    size_t windows;                          /* at most, failed ones included; >= 1 */
    size_t tries;                            /* failed windows after which a candidate is given up; >= 1 */
    double stop;                             /* expected gain of ln J below which no window is worth its time */
    double level; /* prior mean of ln t, sd 3; NAN: ln t of the first window, so that the unit of t is of no account */
};
/* Energy, no limit, noise .01, 4 windows, 2 tries, stop .0003, level NAN. Fill in value and n; reference is n - 1. */
struct wl_advise_cap_opts wl_advise_cap_defaults(const double *value, size_t n);

struct wl_advise_cap;

/* WL_EINVAL: an option is out of range (named with its value). WL_ENOMEM. */
int wl_advise_cap_new(struct wl_advise_cap **out, const struct wl_advise_cap_opts *opts, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* A measured window. */
struct wl_advise_cap_window {
    size_t index;                     /* candidate that was asked for */
    double ln_t;                      /* time per unit of work: the same unit in every window */
    double ln_p;                      /* mean power of one device, W */
    double enforced;                  /* value that the device read back; 0: as asked. See below */
    struct wl_advise_cap_noise noise; /* all 0: the search's */
    bool earlier; /* from an earlier run of the same job, with a larger noise: not counted among opts.windows */
};
/* Adds a window; windows of one candidate may repeat. Where the device clamps, `enforced` replaces the candidate's
 * value, and that of all candidates beyond it on the same side, which the device would clamp to the same value: they
 * are one setting from then on, whose windows count together. WL_EINVAL: no such candidate, a number that is not
 * finite; the search is unchanged then. */
int wl_advise_cap_add(struct wl_advise_cap *s, const struct wl_advise_cap_window *w, struct wl_err *e) WL_MUST_CHECK;

/* A window without a result: the cap could not be set, the sensor failed, too few steps. It counts as a window. After
 * opts.tries failures without a measured window between them a candidate is given up: never proposed, never chosen.
 * `now`: give up at once (the device refuses the value). WL_EINVAL as above. */
int wl_advise_cap_fail(struct wl_advise_cap *s, size_t index, bool now, struct wl_err *e) WL_MUST_CHECK;

enum wl_advise_cap_reason {
    /* not done */
    WL_ADVISE_CAP_REFERENCE, /* the reference is measured first */
    WL_ADVISE_CAP_EXPLORE,   /* largest expected gain */
    WL_ADVISE_CAP_VERIFY,    /* the choice has not been measured */
    /* done */
    WL_ADVISE_CAP_SETTLED,      /* no window is expected to gain `stop`, and the choice has been measured */
    WL_ADVISE_CAP_SPENT,        /* all windows are used */
    WL_ADVISE_CAP_SINGLE,       /* one candidate (or all others given up): nothing to choose */
    WL_ADVISE_CAP_NO_REFERENCE, /* the reference could not be measured: the choice is the reference, untouched */
};
const char *wl_advise_cap_reason_text(enum wl_advise_cap_reason r); /* "no further window is worth its time" */

struct wl_advise_cap_step {
    bool done;
    size_t index; /* candidate of the next window, or the choice */
    enum wl_advise_cap_reason reason;
    double gain;   /* expected fall of ln J by the next window, or by the best further one; NAN for the reference */
    bool measured; /* the choice has a measured window; false only where windows ran out or failed */
};
/* Next window, or the choice. A function of the windows and failures so far, whatever their order: a search that is
 * built anew from its recorded windows goes on where it stopped. */
struct wl_advise_cap_step wl_advise_cap_next(struct wl_advise_cap *s);

/* The choice if no further window is added: least posterior mean of ln J among candidates that meet the limit. */
size_t wl_advise_cap_choice(struct wl_advise_cap *s);

/* What is known of a candidate. Before the first window means and sd are those of the prior, where ln t is relative to
 * the level. */
struct wl_advise_cap_estimate {
    double value;                    /* W or MHz: asked, or enforced where that is known */
    double ln_t, sd_t;               /* posterior of ln t, in the unit of the windows */
    double ln_p, sd_p;               /* posterior of ln P, P in W */
    double ln_slowdown, sd_slowdown; /* of ln(t / t_reference); the reference: 0, 0 */
    double ln_j;    /* ln J at the posterior mean (t in the unit of the windows, P in W), or of Zeus cost with Pmax */
    double sd_j;    /* of ln J, to first order */
    double p_limit; /* P(t <= (1 + slowdown) t_reference); 1 without a limit */
    double gain;    /* expected fall of ln J of the choice by one more window here; can be negative under a limit */
    size_t windows, failed;
    bool given_up;
};
/* [opts.n], valid until the next _add or _fail. */
const struct wl_advise_cap_estimate *wl_advise_cap_estimates(struct wl_advise_cap *s);

/* P(t_i <= (1 + slowdown) t_reference) of candidate i under the posterior, any slowdown > -1. */
double wl_advise_cap_within(struct wl_advise_cap *s, size_t i, double slowdown);

/* P(J_i <= (1 - saving) J_reference), by the moments of the posterior: probability that candidate i saves at least that
 * share, saving < 1. */
double wl_advise_cap_saves(struct wl_advise_cap *s, size_t i, double saving);

#endif
