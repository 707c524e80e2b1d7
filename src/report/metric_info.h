/* Descriptions of the metrics of a workload: from its own definitions (define marks), else from the table of names in
 * use (docs/formats.md). Of other names the direction is guessed, and the report says so. */
#ifndef WL_REPORT_METRIC_INFO_H
#define WL_REPORT_METRIC_INFO_H

#include "report/report.h"
#include "store/read.h"

enum wl_metric_direction { WL_DIRECTION_UNKNOWN, WL_DIRECTION_MAXIMISE, WL_DIRECTION_MINIMISE };

struct wl_metric_info {
    const char *name;        /* "val_top1" */
    const char *description; /* "top-1 accuracy on held-out data"; the name where it is not described */
    const char *unit;        /* "meV"; NULL: a ratio, or unknown */
    enum wl_metric_direction direction;
    bool guessed;            /* `direction`, from the name */
    const char *baseline_of; /* the metric that it is the baseline of; NULL: not a baseline */
    int order;               /* in a report */
};

/* Of a workload; NULL: of all workloads that have the metric, and fields in which they differ are unknown. */
struct wl_metric_info wl_metric_info_of(const struct wl_metric_def_rows *defs, const char *workload, const char *name);

/* Does a metric measure learning? Learning rates and seconds do not. */
bool wl_metric_info_is_quality(const char *name);

/* By order, then by name. */
int wl_metric_info_order(const struct wl_metric_info *a, const struct wl_metric_info *b);

/* "Accuracy on held-out data", to begin a title with; names stay as they are. */
char *wl_metric_info_title(const struct wl_metric_info *m, struct wl_arena *a);

/* The label of an axis: the description, or the name where it is too long. */
const char *wl_metric_info_axis(const struct wl_metric_info *m);

/* " Which way is better was guessed from the name.", or "". */
const char *wl_metric_info_guess(const struct wl_metric_info *m);

#endif
