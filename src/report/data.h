/* The data of a report, read once from a store; sections/ turns it into figures and tables. */
#ifndef WL_REPORT_DATA_H
#define WL_REPORT_DATA_H

#include "law/law.h"
#include "report/choices.h"
#include "report/models.h"
#include "report/report.h"
#include "store/read.h"

/* A group of comparable runs, as it appears in figures and tables. */
struct wl_report_group {
    const struct wl_law_group *law;
    const struct wl_report_model *model; /* of the law's group */
    const char *workload;                /* "" where none was named */
    const char *name;                    /* in tables and sentences: "resnet50, local batch 16" */
    const char *label;                   /* legend entry: the settings in which the groups of a figure differ */
    int colour, dash, marker;
    size_t facet;
};

/* Groups that share figures: all of them; or, where there are too many for one figure, one of each workload, and then
 * those of one workload after the other. */
struct wl_report_facet {
    const char *workload; /* NULL: all groups, or one of each workload */
    const char *settings; /* "cap 250 W, 1380 MHz": what those of each workload share and others differ in; NULL */
};

/* The metrics of all runs, read when the first ones are asked for. */
struct wl_report_metrics {
    struct wl_metric_rows *of; /* [runs.n] as in runs_by_id; NULL: not yet */
};

struct wl_report_data {
    struct wl_store *store; /* NULL: the report is of a table */
    const char *source;     /* path of either */
    struct wl_report_options options;
    struct wl_campaign_rows campaigns; /* those the report is about */
    struct wl_trial_rows trials;
    struct wl_run_rows runs;
    struct wl_unlike_rows unlike;         /* repeats with different commands */
    const struct wl_run_row **runs_by_id; /* [runs.n] */
    const char **run_labels;              /* [runs.n] of a table, as its column has them; NULL: there are none */
    struct wl_observations observations;  /* times and energies of one `span` */
    struct wl_observations whole;         /* the same rows with those of their own epochs or runs, for sums over runs */
    struct wl_variation_rows variations;  /* of utilisation, by run */
    struct wl_metric_def_rows metric_defs;
    struct wl_report_metrics *metrics; /* of wl_report_data_metrics */
    struct wl_law_result law;
    struct wl_report_model *models; /* [law.n] */
    struct wl_report_choices choices;
    struct wl_report_group *groups; /* in the order of workloads and settings */
    size_t n_groups;                /* what tables hold */
    size_t n_drawn; /* n_groups and, where there are facets, copies that represent their workload in the first facet */
    struct wl_report_facet *facets;
    size_t n_facets;
    const char *series; /* "constant global batch": suffix of titles and ids of figures; NULL: the law's own grouping */
    const char *span;   /* what a time or an energy belongs to: "epoch", "run" (none recorded epochs), "10^9 tokens" */
    const struct wl_obs_work *work; /* NULL: the span is an epoch or a run */
    struct wl_arena *arena;
};

/* Of a store or of a table; the other one is NULL. */
int wl_report_data_load(struct wl_report_data *g, struct wl_store *store, const struct wl_observations *table,
                        const struct wl_report_options *options, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The same runs in groups of one value of `batch` ("local_batch", "global_batch"), regardless of the law's own rule.
 */
int wl_report_data_load_series(struct wl_report_data *out, const struct wl_report_data *g, const char *batch,
                               struct wl_err *e) WL_MUST_CHECK;

const struct wl_run_row *wl_report_data_run(const struct wl_report_data *g, int64_t id); /* NULL: none */

/* What to call a run in a sentence: the label that its table gave it, else its number. */
const char *wl_report_data_run_name(const struct wl_report_data *g, int64_t id);

/* The metrics of a run of the store. */
int wl_report_data_metrics(const struct wl_report_data *g, int64_t run, struct wl_metric_rows *out,
                           struct wl_err *e) WL_MUST_CHECK;

/* The run that the law knows by this label, its id as text; NULL: none. */
const struct wl_run_row *wl_report_data_run_by_label(const struct wl_report_data *g, const char *label);
size_t wl_report_data_count_runs(const struct wl_report_data *g, enum wl_run_status status);

/* "one epoch", "one run", "10^9 tokens"; and a quantity of it: "epoch time", "time of 10^9 tokens". */
const char *wl_report_data_one_span(const struct wl_report_data *g);
const char *wl_report_data_of_span(const struct wl_report_data *g, const char *quantity);

#endif
