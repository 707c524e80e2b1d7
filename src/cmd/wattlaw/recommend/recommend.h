/* wattlaw recommend: options, what was read, and the output of it. */
#ifndef WL_CMD_WATTLAW_RECOMMEND_RECOMMEND_H
#define WL_CMD_WATTLAW_RECOMMEND_RECOMMEND_H

#include "advise/advise.h"
#include "cmd/wattlaw/footprint.h"

struct wl_recommend_options {
    struct wl_strs map, where, reference, budget;
    const char *minimize, *max_slowdown, *site_power, *target, *epochs_table;
    const char *jobs, *cap; /* of --policy */
    int64_t drop_epochs;
    double deadline_s, probability, eta, max_power_w, node_size, global_batch, epochs, samples, tokens;
    double price_worker_h, price_node_h, charging_factor, devices, memory_gb;
    struct wl_footprint footprint;
    bool all, json, policy, exclude_busy;
};
#define WL_RECOMMEND_SLOWDOWN_MAX 1e4 /* % */

/* A finished recommendation. */
struct wl_recommendation {
    const char *source;
    bool is_store, one_of_several; /* workloads */
    struct wl_observations obs;
    struct wl_choose_campaign campaign;
    struct wl_choose_options options;
    struct wl_choose_input input;
    struct wl_choose_result result;
    const struct wl_recommend_options *asked;
};

/* Prints the choice for each workload of `source`; returns an exit status. Completes the footprint of `o`. */
int wl_recommend_answer(struct wl_recommend_options *o, const char *source, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

/* The same as members of `root` (NULL: printed as text). Of some errors the members that were known before stay. */
int wl_recommend_answer_json(struct wl_recommend_options *o, const char *source, struct wl_json *root,
                             struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* What the command does without options. */
void wl_recommend_defaults(struct wl_recommend_options *out, struct wl_arena *a);

/* Limits and restrictions from the options. WL_EUSAGE names the option, the value and what was expected. */
int wl_recommend_read_where(const struct wl_strs *texts, const char *option, struct wl_choose_where **out,
                            struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
int wl_recommend_read_limits(const struct wl_recommend_options *o, struct wl_choose_options *out, struct wl_arena *a,
                             struct wl_err *e) WL_MUST_CHECK;
bool wl_recommend_is_unlimited(const char *max_slowdown); /* --max-slowdown none */
int wl_recommend_read_percent(const char *option, const char *text, double most, double *out, struct wl_arena *a,
                              struct wl_err *e) WL_MUST_CHECK;
int wl_recommend_read_site_power(const char *text, double *watts, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
int wl_recommend_read_epochs_table(const char *path, struct wl_choose_epochs_table *out, struct wl_arena *a,
                                   struct wl_err *e) WL_MUST_CHECK;

/* The setting that the choice (without one the nearest setting) is compared with, or WL_CHOOSE_NONE. */
int wl_recommend_reference(const struct wl_recommendation *r);

/* The command line that runs setting i. */
const char *wl_recommend_command(const struct wl_recommendation *r, size_t i, struct wl_arena *a);

/* A quantity of setting i as an amount: of energy, carbon and cost with the word of its provenance. */
struct wl_amount wl_recommend_amount(const struct wl_recommendation *r, enum wl_choose_quantity q, size_t i);

/* "energy", "energy x time": in a sentence; "J", the currency of prices. */
const char *wl_recommend_words(enum wl_choose_quantity q);
const char *wl_recommend_unit(const struct wl_recommendation *r, enum wl_choose_quantity q);

/* Why setting i may not be chosen; NULL: it may. */
const char *wl_recommend_why_not(const struct wl_recommendation *r, size_t i);

void wl_recommend_print_table(const struct wl_recommendation *r, struct wl_arena *a);
void wl_recommend_print(const struct wl_recommendation *r, struct wl_arena *a);
void wl_recommend_json(const struct wl_recommendation *r, struct wl_json *root, struct wl_arena *a);

/* ---- --policy ---- */

struct wl_recommend_policy {
    const struct wl_recommend_options *asked;
    const struct wl_strs *sources;
    struct wl_policy_options options;
    struct wl_policy_jobs jobs;
    struct wl_policy_result result;
    double devices; /* that powers are for */
    struct wl_strs notes;
};

/* One cap for the jobs of all sources; returns an exit status. */
int wl_recommend_policy(const struct wl_recommend_options *o, const struct wl_strs *sources, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

/* "200 W", "no power cap" */
const char *wl_recommend_cap_name(const struct wl_policy_jobs *jobs, size_t value, struct wl_arena *a);

/* Lines of a shell script that Slurm runs as root before (`prolog`) or after each job, for a candidate. */
const char *wl_recommend_slurm_script(const struct wl_policy_jobs *jobs, size_t value, bool prolog, struct wl_arena *a);

void wl_recommend_policy_print(const struct wl_recommend_policy *p, struct wl_arena *a);
void wl_recommend_policy_json(const struct wl_recommend_policy *p, struct wl_json *root, struct wl_arena *a);

#endif
