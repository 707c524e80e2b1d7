/* Is a new version of a job worse than allowed? For continuous integration. docs/adr/148 */
#ifndef WL_LAW_GATE_H
#define WL_LAW_GATE_H

#include "base/base.h"

enum wl_gate_quantity {
    WL_GATE_TIME,              /* of an epoch or run, s */
    WL_GATE_ENERGY,            /* J */
    WL_GATE_POWER,             /* energy / time, W */
    WL_GATE_EDP,               /* energy x time */
    WL_GATE_THROUGHPUT,        /* samples/s */
    WL_GATE_TOKEN_RATE,        /* tokens/s */
    WL_GATE_ENERGY_PER_SAMPLE, /* J */
    WL_GATE_ENERGY_PER_TOKEN,  /* J */
    WL_GATE_QUANTITIES
};
const char *wl_gate_quantity_name(enum wl_gate_quantity q); /* "time" ..., as in conditions */

/* "energy>3%": fails if the change of the quantity from base to new is above 3 %; "throughput<-5%": if it is below -5
 * %. */
struct wl_gate_condition {
    const char *text;
    enum wl_gate_quantity quantity;
    bool above;
    double change; /* .03 */
};

/* WL_EUSAGE: names the text, with "did you mean" for an unknown quantity. */
int wl_gate_parse(const char *text, struct wl_gate_condition *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

enum wl_gate_verdict { WL_GATE_PASSED, WL_GATE_UNDECIDED, WL_GATE_FAILED };

/* A condition, or with `condition` NULL a quantity without one, in a configuration that both have. */
struct wl_gate_check {
    const char *title; /* of the configuration: "resnet50 workers=2"; "": there is one alone */
    const struct wl_gate_condition *condition;
    enum wl_gate_quantity quantity;
    size_t base_runs, new_runs;   /* with a value */
    double base, now;             /* geometric means over runs */
    double change, lo, hi;        /* new / base - 1 with its 95 % interval (Welch, of logarithms); NAN: unknown */
    double p_worse, p_worse_holm; /* that the change is not beyond the bound; Holm over all checks */
    double p_within;              /* that the change is not within it */
    enum wl_gate_verdict verdict;
    const char *why;           /* undecided: what is missing; NULL: decided */
    bool estimated, simulated; /* quantities of energy */
};

struct wl_gate_result {
    struct wl_gate_check *v;
    size_t n;
    struct wl_strs notes; /* configurations that only one has */
    enum wl_gate_verdict verdict;
};

struct wl_gate_options {
    const struct wl_gate_condition *conditions; /* [n]; none: time and energy are compared, and nothing can fail */
    size_t n;
    struct wl_strs by;   /* columns of a configuration; none: all settings */
    int64_t drop_epochs; /* first epochs of each run that do not count, but for the last one */
};

/* Compares configuration by configuration. FAILED: the data show, at 2.5 % over all checks (Holm), that the change is
 * beyond its bound; PASSED: they show at 2.5 % that it is within; else UNDECIDED. The result has the worst of its
 * checks. WL_EINVAL: no configuration is in both. */
int wl_gate_compare(const struct wl_observations *base, const struct wl_observations *now,
                    const struct wl_gate_options *options, struct wl_gate_result *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

#endif
