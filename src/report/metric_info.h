/* What the metrics of a workload are: as it said itself (define marks); what it did not say is known of the names in
 * use (docs/formats.md), and of other names which way is better is guessed, which is said wherever it matters. */
#ifndef WL_REPORT_METRIC_INFO_H
#define WL_REPORT_METRIC_INFO_H

#include "report/report.h"
#include "store/store.h"

enum wl_metric_direction { WL_DIRECTION_UNKNOWN, WL_DIRECTION_MAXIMISE, WL_DIRECTION_MINIMISE };

struct wl_metric_info {
    const char *name;  /* "val_top1" */
    const char *words; /* "top-1 accuracy on held-out data"; the name where nobody said more */
    const char *unit;  /* "meV"; NULL: a ratio, or it was not said */
    enum wl_metric_direction better;
    bool guessed;            /* `better`, from the name */
    const char *baseline_of; /* the metric that it is the baseline of; NULL: it is none */
    int place;               /* in the order of a report */
};

/* Of a workload; NULL: of all that have such a metric, and then what they do not agree in is not known. */
struct wl_metric_info wl_metric_info_of(const struct wl_metric_def_rows *defs, const char *workload, const char *name);

/* Does a metric say what was learned? Learning rates and seconds do not. */
bool wl_metric_info_is_quality(const char *name);

/* By place, then by name. */
int wl_metric_info_order(const struct wl_metric_info *a, const struct wl_metric_info *b);

/* "Accuracy on held-out data", to begin a title with; names stay as they are. */
char *wl_metric_info_title(const struct wl_metric_info *m, struct wl_arena *a);

/* What an axis has room for beside its unit: the words, or the name where they are too long. */
const char *wl_metric_info_axis(const struct wl_metric_info *m);

/* " Which way is better was guessed from the name.", or "". */
const char *wl_metric_info_guess(const struct wl_metric_info *m);

#endif
