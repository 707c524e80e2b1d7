/* The choice among the settings of a campaign: least energy, time, carbon, cost or a product of them, within limits
 * that must hold with a given probability; the settings that cannot be distinguished from the choice, the runner-up and
 * the run that would decide, what is saved against a reference, and the trade-off between time and energy. The one
 * place where these are computed: command and report show them. Pure: arrays in, structs out. Method: docs/adr/117. */
#ifndef WL_ADVISE_CHOOSE_CHOOSE_H
#define WL_ADVISE_CHOOSE_CHOOSE_H

#include "advise/joint/joint.h"
#include "stats/stats.h"

enum wl_choose_quantity {
    WL_CHOOSE_ENERGY, /* E = N P T, J */
    WL_CHOOSE_TIME,   /* T, s */
    WL_CHOOSE_CARBON, /* g CO2e */
    WL_CHOOSE_COST,   /* of energy, worker-hours and node-hours, in the currency */
    WL_CHOOSE_EDP,    /* E T, J s */
    WL_CHOOSE_ED2P,   /* E T^2, J s^2 */
    WL_CHOOSE_ZEUS,   /* eta E + (1 - eta) Pmax N T, J (You et al. 2023) */
    WL_CHOOSE_QUANTITIES
};
const char *wl_choose_quantity_name(enum wl_choose_quantity q); /* "energy", "edp"; as in --minimize */

/* A setting that was measured. */
struct wl_choose_setting {
    const char *name;      /* "8 workers, power cap 250 W" */
    double workers, nodes; /* nodes NAN: unknown */
    size_t runs;
    double ln_work;       /* T = t exp(ln_work): ln of the units of work (epochs) that T is for */
    const char *excluded; /* why it may not be chosen, or NULL; its runs are evidence all the same */
};

/* Settings whose joint model is one: a contiguous range. */
struct wl_choose_group {
    size_t first, n;
    const struct wl_joint *joint;
};

struct wl_choose_prices {
    double pue;                               /* energy at the meter over energy of the devices */
    double g_per_kwh;                         /* NAN: carbon is unknown */
    double per_kwh, per_worker_h, per_node_h; /* NAN: none of that kind; cost is unknown without any */
};

struct wl_choose_limit {
    const char *name;                 /* "--deadline 8h", for messages */
    enum wl_choose_quantity quantity; /* time, energy, carbon or cost */
    bool relative;                    /* to the reference of each setting */
    double most;                      /* s, J, g, currency; relative: the ratio 1.1 */
    bool by_default;                  /* not asked for */
};

struct wl_choose_options {
    enum wl_choose_quantity minimize;
    struct wl_choose_limit *limits;
    size_t n_limits;
    double probability; /* with which each limit must be met; (0, 1) */
    size_t reference;
    const size_t *references; /* [n] one for each setting, or WL_CHOOSE_NO_REFERENCE; NULL: `reference` for all */
    struct wl_choose_prices prices;
    double eta, max_power_w; /* of the Zeus cost; Pmax of a worker */
};

struct wl_choose_input {
    const struct wl_choose_setting *settings;
    size_t n;
    const struct wl_choose_group *groups;
    size_t n_groups;
    const double *work_draws; /* [n][WL_JOINT_DRAWS] of ln_work less its mean; NULL: the work is certain */
};

enum { WL_CHOOSE_NONE = -1 };
#define WL_CHOOSE_NO_REFERENCE ((size_t)-1)

/* The reference of setting i. */
size_t wl_choose_reference_of(const struct wl_choose_options *o, size_t i);

/* 95 % intervals; value: exp of the posterior mean of the logarithm. NAN: unknown. */
struct wl_choose_row {
    struct wl_estimate amount[WL_CHOOSE_QUANTITIES];
    double ln[WL_CHOOSE_QUANTITIES]; /* posterior means of the logarithms */
    double *meets;                   /* [limits] probabilities */
    bool allowed;                    /* not excluded, and each limit is met with the probability asked for */
    double pareto;                   /* probability that nothing is lower in both time and `other` */
    bool front;                      /* on the front of the posterior means */
    bool tied;                       /* not distinguished from the choice: P(J > 1.01 J of the choice) < .9 */
    double gain;                     /* expected fall of ln J of the choice by one more run here */
    struct wl_estimate slowdown;     /* T over that of its reference */
};

/* What a limit would have to be. */
struct wl_choose_relaxation {
    double most; /* least value of the limit with which a setting is allowed, the other limits as they are; NAN: none */
    int setting; /* that one, or WL_CHOOSE_NONE */
};

struct wl_choose_result {
    const struct wl_choose_input *input;
    const struct wl_choose_options *options;
    struct wl_choose_row *rows; /* [input->n] */
    size_t allowed;
    int choice;       /* WL_CHOOSE_NONE: no setting is allowed */
    int runner_up;    /* next least J of those allowed, or WL_CHOOSE_NONE */
    double ahead;     /* P(J of the choice < J of the runner-up); NAN without one */
    int measure;      /* the setting of which one more run is expected to gain most; WL_CHOOSE_NONE: no gain above 0 */
    double within[2]; /* probability that J of the choice is within 1 % and 3 % of the least of those allowed */
    /* Quantities of the choice over those of its reference: ratio of posterior means with its interval, not of raw
     * means, which promise too much of what came out best. */
    struct wl_estimate saving[WL_CHOOSE_QUANTITIES];
    int worst; /* the setting with the largest expected J of those not excluded, if it is not the choice */
    struct wl_estimate over_worst; /* J of the choice over that of `worst`, as `saving` */
    enum wl_choose_quantity other; /* second quantity of the trade-off; WL_CHOOSE_TIME: there is none */
    int knee;     /* of the front of posterior means; WL_CHOOSE_NONE: fewer than three members or hardly bent */
    double depth; /* of the knee: distance from the chord, logarithms scaled to [0, 1]; NAN without a front of three */
    /* Without a choice. */
    int nearest; /* not excluded, the one that exceeds its worst limit by the smallest factor */
    int binding; /* the limit that it misses most, or WL_CHOOSE_NONE: all settings are excluded */
    struct wl_choose_relaxation *relaxed; /* [limits] */
};

/* WL_EINVAL: the quantity to minimize or a limit needs an energy, a carbon intensity, a price or a maximum power that
 * is not known (the message says which), or the quantity to minimize is not finite. Input and options must outlive the
 * result. */
int wl_choose(const struct wl_choose_input *in, const struct wl_choose_options *o, struct wl_choose_result *out,
              struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Is it known, with these data and prices? Returns why not, or NULL. */
const char *wl_choose_unknown(const struct wl_choose_input *in, const struct wl_choose_options *o,
                              enum wl_choose_quantity q);

/* ---- where the question leaves it open ---- */

#define WL_CHOOSE_SLOWDOWN    0.10 /* allowed over the reference */
#define WL_CHOOSE_PROBABILITY 0.9  /* with which a limit must be met */

/* Least energy, or least time where no energy was measured. */
enum wl_choose_quantity wl_choose_default_quantity(const struct wl_choose_input *in, const struct wl_choose_options *o);

/* Adds a limit of WL_CHOOSE_SLOWDOWN to o->limits, which must have room for it, unless there is a limit or time is a
 * part of o->minimize: else the least energy may take any time, with the lowest cap or the fewest workers. */
void wl_choose_add_default_limit(struct wl_choose_options *o);

/* A fall of ln J below which a further run is not worth it: what is saved is less than what differs between runs. */
#define WL_CHOOSE_LEAST_GAIN 0.005

/* The setting of which a further run is worth it, or WL_CHOOSE_NONE. */
int wl_choose_next_run(const struct wl_choose_result *r);

#endif
