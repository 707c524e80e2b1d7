/* What the report of a store is made from, read once; the sections below turn it into figures and tables. */
#ifndef WL_REPORT_DATA_H
#define WL_REPORT_DATA_H

#include "law/law.h"
#include "report/report.h"
#include "store/store.h"

/* A group of comparable runs, as it appears in figures and tables. */
struct wl_report_group {
    const struct wl_law_group *law;
    const char *workload; /* "" where none was named */
    const char *name;     /* in tables and sentences: "resnet50, local batch 16" */
    const char *label;    /* legend: what tells groups of one figure apart */
    int colour, marker;
    size_t facet;
};

/* Groups that share figures: all of them; or, where there are too many to tell apart, one of each workload, and then
 * those of one workload after the other. */
struct wl_report_facet {
    const char *workload; /* NULL: all groups, or one of each workload */
    const char *settings; /* "cap 250 W, 1380 MHz": what those of each workload share and others differ in; NULL */
};

struct wl_report_data {
    struct wl_store *store;
    struct wl_report_options options;
    struct wl_campaign_rows campaigns; /* those the report is about */
    struct wl_trial_rows trials;
    struct wl_run_rows runs;
    const struct wl_run_row **runs_by_id; /* [runs.n] */
    struct wl_observations observations;
    struct wl_variation_rows variations; /* of utilisation, by run */
    struct wl_metric_def_rows metric_defs;
    struct wl_law_result law;
    struct wl_report_group *groups; /* in the order of workloads and settings */
    size_t n_groups;                /* what tables hold */
    size_t n_drawn; /* behind the groups, once more those that stand for their workload in the first facet */
    struct wl_report_facet *facets;
    size_t n_facets;
    const char *series; /* "constant global batch": behind titles and ids of figures; NULL: the law's own grouping */
    bool whole_runs;    /* no run told of epochs: times and energies are those of whole runs */
    struct wl_arena *arena;
};

int wl_report_data_load(struct wl_report_data *g, struct wl_store *store, const struct wl_report_options *options,
                        struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The same runs in groups of one value of `batch` ("local_batch", "global_batch"), whatever the law's own rule takes.
 */
int wl_report_data_load_series(struct wl_report_data *out, const struct wl_report_data *g, const char *batch,
                               struct wl_err *e) WL_MUST_CHECK;

const struct wl_run_row *wl_report_data_run(const struct wl_report_data *g, int64_t id); /* NULL: not there */

/* The run that the law knows by this label, its id as text; NULL: none. */
const struct wl_run_row *wl_report_data_run_by_label(const struct wl_report_data *g, const char *label);
size_t wl_report_data_count_runs(const struct wl_report_data *g, enum wl_run_status status);

/* From g->law: groups, facets, and n_drawn; names and the labels of a facet are all different. */
void wl_report_groups_name(struct wl_report_data *g);

/* Is the column part of the key of some group? */
bool wl_report_groups_have_column(const struct wl_report_data *g, const char *column);

/* "resnet50, cap 150 W"; "all runs" without a key. */
char *wl_report_groups_key_text(const struct wl_law_key *key, size_t n, struct wl_arena *a);

/* "epoch" or "run": what a time or an energy belongs to. */
const char *wl_report_data_span(const struct wl_report_data *g);

/* " of resnet50" and "-resnet50" behind titles and ids of a facet; "" where one holds all groups. */
char *wl_report_facet_title(const struct wl_report_data *g, size_t facet, const char *title);
char *wl_report_facet_id(const struct wl_report_data *g, size_t facet, const char *id);

/* The worker counts of a facet, thinned to at most `most` (wl_ticks_counts), and a figure over them. */
struct wl_reals wl_report_worker_counts(const struct wl_report_data *g, size_t facet, size_t most);
struct wl_figure *wl_report_group_figure(const struct wl_report_data *g, size_t facet, const char *id,
                                         const char *title);

/* Has a group of the facet more than one worker count, so that there is something to compare with the smallest? */
bool wl_report_facet_scales(const struct wl_report_data *g, size_t facet);

/* A group's values at its worker counts with their intervals, as points on a line: estimates [law->n_configs]. */
void wl_report_add_estimates(struct wl_figure *f, const struct wl_report_group *group,
                             const struct wl_estimate *estimates);

/* A group's ratios to its smallest worker count, with their intervals; `member` is the offset of a wl_estimate in
 * struct wl_law_config. */
void wl_report_add_ratios(struct wl_figure *f, const struct wl_report_group *group, size_t member);

/* Columns of tables of laws, and a law's cells in them; empty ones where it is NULL. */
#define WL_REPORT_LAW_COLUMNS                                                                 \
    { .id = "beta", .label = "exponent", .metric = "beta", .digits = 3 },                     \
        { .id = "beta_se", .label = "s.e.", .metric = "beta", .digits = 2 },                  \
        { .id = "beta_lo", .label = "from", .metric = "ci95", .digits = 3 },                  \
        { .id = "beta_hi", .label = "to", .metric = "ci95", .digits = 3 },                    \
        { .id = "alpha", .label = "time at 1", .unit = "s", .metric = "alpha", .digits = 4 }, \
    {                                                                                         \
        .id = "r2", .label = "R2", .metric = "r2", .digits = 3                                \
    }
void wl_report_law_cells(struct wl_report_table *t, const struct wl_law_estimate *law);

/* Why the numbers of a run that ended are not used, or NULL. */
char *wl_report_run_reason(const struct wl_run_row *run, struct wl_arena *a);

/* Sections; one that has nothing to show adds nothing. */
void wl_report_add_facts(const struct wl_report_data *g, struct wl_document *d);
void wl_report_add_findings(const struct wl_report_data *g, struct wl_document *d);
void wl_report_add_warnings(const struct wl_report_data *g, struct wl_document *d);
void wl_report_add_scaling(const struct wl_report_data *g, struct wl_document *d);
void wl_report_add_law_tables(const struct wl_report_data *g, struct wl_document *d, struct wl_section *s);
void wl_report_add_scaling_figures(const struct wl_report_data *g, struct wl_document *d, struct wl_section *s);
void wl_report_add_quality_figures(const struct wl_report_data *g, struct wl_document *d, struct wl_section **s);
void wl_report_add_energy_figures(const struct wl_report_data *g, struct wl_document *d, struct wl_section **s);
int wl_report_add_constant_batch(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e) WL_MUST_CHECK;
void wl_report_add_model_selection(const struct wl_report_data *g, struct wl_document *d);
int wl_report_add_factors(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e) WL_MUST_CHECK;
void wl_report_add_energy(const struct wl_report_data *g, struct wl_document *d);
int wl_report_add_footprint(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e) WL_MUST_CHECK;
int wl_report_add_worker_hours(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e) WL_MUST_CHECK;
int wl_report_add_utilisation(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e) WL_MUST_CHECK;
int wl_report_add_power_trace(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e) WL_MUST_CHECK;
int wl_report_add_learning_curves(const struct wl_report_data *g, struct wl_document *d,
                                  struct wl_err *e) WL_MUST_CHECK;
int wl_report_add_large_batch(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e) WL_MUST_CHECK;
void wl_report_add_runs(const struct wl_report_data *g, struct wl_document *d);

#endif
