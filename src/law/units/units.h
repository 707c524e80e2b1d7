/* Is one node, GPU, rank or switch slower, hungrier or more often throttled than the others? docs/adr/162 */
#ifndef WL_LAW_UNITS_UNITS_H
#define WL_LAW_UNITS_UNITS_H

#include "stats/stats.h"

enum wl_units_kind { WL_UNITS_NODES, WL_UNITS_GPUS, WL_UNITS_RANKS, WL_UNITS_SWITCHES, WL_UNITS_KINDS };
extern const char *const wl_units_names[];   /* by kind: "node", "gpu", "rank", "switch", as of --factor */
extern const char *const wl_units_plurals[]; /* "nodes", "GPUs", "ranks", "switches" */

/* false: another factor. */
bool wl_units_find(const char *factor, enum wl_units_kind *kind);

/* What a GPU did in a run, or in one of its epochs; or how long a rank computed, where compute_s is not NAN and the
 * rest is. NAN: not measured. */
struct wl_units_reading {
    const char *run;                  /* as in the observations */
    double epoch;                     /* NAN: the whole run */
    const char *node, *uuid, *serial; /* NULL: not known; a GPU has the first two */
    double number;                    /* of a GPU in its node; NAN: not known */
    double rank;                      /* the only one that computes on the GPU; NAN: none, several, or not known */
    double compute_s;                 /* in an epoch, without waiting for other ranks; of a run their mean */
    double energy_j, clock_mhz;
    double power_capped_pct, thermal_capped_pct; /* share of the time that the power limit, the temperature held its
                                                  * clock down */
    bool unused;                                 /* a GPU that the job held and did not use: it is not compared */
    bool estimated, simulated;                   /* the energy; anything */
};

struct wl_units_input {
    const struct wl_observations *obs;       /* nodes and switches: columns node and switches, of several with commas */
    const struct wl_units_reading *readings; /* those of other runs than the observations' are left out */
    size_t n;
    struct wl_strs by; /* columns of a configuration; none: all settings */
    int64_t drop_epochs;
};

/* A quantity, in the order of the results. Time and energy are compared between runs of one setting (but for ranks,
 * which every run has); the others, and the energy again, between the units of one run. */
enum wl_units_quantity {
    WL_UNITS_TIME,
    WL_UNITS_ENERGY,
    WL_UNITS_COMPUTE,
    WL_UNITS_ENERGY_WITHIN,
    WL_UNITS_CLOCK,
    WL_UNITS_POWER_CAPPED,
    WL_UNITS_THERMAL_CAPPED,
    WL_UNITS_QUANTITIES
};

/* "time", "energy within runs", "held down by temperature" */
const char *wl_units_title(enum wl_units_quantity q);

struct wl_units_table {
    enum wl_units_quantity quantity;
    const char *name; /* "energy_within_run" */
    bool is_share;    /* effects are percentage points; else differences of logarithms */
    bool of_epochs;   /* blocks are epochs of one run; else runs, or of time and energy settings */
    bool estimated;
    size_t rows, blocks;
    struct wl_unit_effects effects; /* [units] */
    double *mean;                   /* [units] of a share, in %; else NAN */
    const char *refusal;            /* why nothing is compared, or NULL */
};

struct wl_units_result {
    enum wl_units_kind kind;
    const char **label;  /* [n] "n17", "GPU 5 of n3", "rank 5" */
    const char **uuid;   /* [n] of GPUs; else NULL */
    const char **serial; /* [n] NULL: none, or not known */
    size_t n;
    size_t runs;
    bool simulated;
    struct wl_units_table v[WL_UNITS_QUANTITIES];
    size_t tables; /* those that have rows */
    struct wl_strs notes;
};

/* WL_ENOENT: the observations have no such column, or a column of `by` is missing. WL_EUNAVAIL: GPUs or
 * ranks without readings. WL_EINVAL: more than 2048 units. */
int wl_units_compare(const struct wl_units_input *in, enum wl_units_kind kind, struct wl_units_result *out,
                     struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Is it shown, at 5 % over all units, to differ? */
bool wl_units_differs(const struct wl_units_table *t, size_t unit);

/* Is its effect bad: slower, more energy, a slower clock, more throttled? */
bool wl_units_is_worse(const struct wl_units_table *t, size_t unit);

/* Is that worth a sentence? Of two that have only each other, and of shares, that of the worse one is. */
bool wl_units_is_finding(const struct wl_units_table *t, size_t unit);

/* "n17 is 6.1 % slower than the other nodes (4.2 to 8 %, p = 2e-05)" */
const char *wl_units_sentence(const struct wl_units_result *r, const struct wl_units_table *t, size_t unit,
                              struct wl_arena *a);

/* An effect and its ends in %, or in percentage points. */
struct wl_estimate wl_units_percent(const struct wl_units_table *t, size_t unit);

void wl_units_json(const struct wl_units_result *r, struct wl_json *object);

#endif
