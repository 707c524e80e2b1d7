/* What `wattlaw plan` computes, and its text and JSON. */
#ifndef WL_CMD_WATTLAW_PLAN_INTERNAL_H
#define WL_CMD_WATTLAW_PLAN_INTERNAL_H

#include "carbon/carbon.h"
#include "planner/planner.h"

/* A place or a tariff: [site NAME]. */
struct wl_cmd_plan_site {
    const char *name;
    struct wl_footprint footprint;
    const char *price_csv;
    struct wl_grid_steps *prices; /* per kWh; NULL: they do not vary with time */
};

/* A workload on a machine at all settings: `base` (no cap, no lock) for each worker count, then each cap and clock. */
struct wl_cmd_planned {
    size_t workload;
    struct wl_planner_forecast *f; /* [n] */
    size_t n, n_base;
    const char *needs_energy; /* the number without which there is no energy; NULL: there is one */
    const char *note;         /* on counts whose global batch is more than the data; NULL: none */
};

struct wl_cmd_plan_machine {
    size_t machine;
    struct wl_planner_posterior posterior;
    struct wl_cmd_planned *v; /* [plan->n_workloads] */
};

struct wl_cmd_plan {
    const struct wl_planner_plan *plan;
    struct wl_planner_rows rows; /* n = 0: not calibrated */
    const char *calibrated_from;
    enum wl_provenance from; /* of all results: estimated, and simulated where the measurements are */
    struct wl_planner_accuracy accuracy;
    struct wl_cmd_plan_machine *machines; /* the chosen one; all of them with --compare machines */
    size_t n_machines;
    struct wl_cmd_plan_site *sites;
    size_t n_sites;
};

/* Reads the sites of a plan. Messages name file:line. */
int wl_cmd_plan_read_sites(const struct wl_planner_plan *p, struct wl_cmd_plan_site **out, size_t *n,
                           struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* A training that starts at a row of a file after which the file covers it. */
struct wl_cmd_plan_start {
    bool known; /* false: there is none, or nothing varies with time */
    int64_t wall_ns;
    double g_per_kwh, price; /* means while it runs; NAN: unknown */
};

/* The keys of such a section. */
const struct wl_opt *wl_cmd_plan_site_rows(void);

/* Energy, carbon and money of a training at a site. What varies with time is the mean over all starts. */
struct wl_cmd_plan_bill {
    double hours, kwh;             /* of the training; at the meter, NAN: unknown */
    double g_per_kwh, carbon_g;    /* NAN: unknown */
    double price;                  /* per kWh; NAN: none */
    double energy_cost, hour_cost; /* of energy; of worker-hours and node-hours; NAN: no price */
    struct wl_cmd_plan_start cleanest, dirtiest, cheapest, dearest;
    const char *currency;
};
struct wl_cmd_plan_bill wl_cmd_plan_bill_of(const struct wl_cmd_plan *c, const struct wl_cmd_plan_machine *m,
                                            const struct wl_planner_forecast *f, const struct wl_cmd_plan_site *site);

/* "1 worker", "2000 steps": a count that may be larger than integers are. */
const char *wl_cmd_plan_count(double n, const char *noun, struct wl_arena *a);

void wl_cmd_plan_print(const struct wl_cmd_plan *c, struct wl_arena *a);
void wl_cmd_plan_print_machines(const struct wl_cmd_plan *c, struct wl_arena *a);
void wl_cmd_plan_print_sites(const struct wl_cmd_plan *c, struct wl_arena *a);
/* Which numbers of the machines' cards have no source. */
void wl_cmd_plan_print_assumed(const struct wl_cmd_plan *c, struct wl_arena *a);
void wl_cmd_plan_print_keys(void);
void wl_cmd_plan_json(const struct wl_cmd_plan *c, struct wl_arena *a);

#endif
