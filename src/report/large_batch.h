/* Metrics by global batch: the values of the figures and the table of the large-batch effect. */
#ifndef WL_REPORT_LARGE_BATCH_H
#define WL_REPORT_LARGE_BATCH_H

#include "report/data.h"
#include "report/metric_info.h"

/* The runs of one line with one global batch. */
struct wl_large_batch_point {
    double batch;
    size_t runs;
    struct wl_estimate final, best; /* best: NAN where the direction is unknown */
};

/* Runs that differ only in global batch and repeat as far as learning is concerned: local batches, power caps and
 * clocks are pooled. */
struct wl_large_batch_line {
    const char *label;    /* "2 workers", and other settings in which lines differ */
    const char *workload; /* "" where none was named */
    double workers;
    size_t n_runs;
    const char **notes;           /* [n_runs] "run 3" */
    double *batch, *final, *best; /* [n_runs] */
    struct wl_large_batch_point *points;
    size_t n_points; /* in order of batch */
};

/* One metric of one workload. */
struct wl_large_batch_metric {
    struct wl_metric_info info;
    struct wl_large_batch_line *lines; /* without those that lack it */
    size_t n_lines;
    struct wl_strs missing; /* "run 7": finished without a finite value */
};

/* One workload with two global batches or more. */
struct wl_large_batch_set {
    const char *workload;
    size_t n_runs, n_batches;
    struct wl_large_batch_metric *metrics; /* the main one first; empty: no run recorded any */
    size_t n_metrics, n_omitted;           /* n_omitted: metrics beyond those */
    bool simulated;
};

struct wl_large_batch_sets {
    struct wl_large_batch_set *v;
    size_t n, cap;
};

/* Reads the metrics of the finished runs that are not flagged. */
int wl_large_batch_sets(const struct wl_report_data *g, struct wl_large_batch_sets *out,
                        struct wl_err *e) WL_MUST_CHECK;

#endif
