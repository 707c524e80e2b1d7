/* What the metrics of a workload are: as it said itself (define marks); what it did not say is known of the names in use
 * (docs/formats.md), and of other names which way is better is guessed, which is said wherever it matters. */
#ifndef WL_REPORT_MEANING_H
#define WL_REPORT_MEANING_H

#include "report/report.h"
#include "store/store.h"

enum wl_better { WL_BETTER_UNKNOWN, WL_BETTER_LARGER, WL_BETTER_SMALLER };

struct wl_meaning {
    const char *name;        /* "val_top1" */
    const char *words;       /* "top-1 accuracy on held-out data"; the name where nobody said more */
    const char *unit;        /* "meV"; NULL: a ratio, or it was not said */
    enum wl_better better;
    bool guessed;            /* `better`, from the name */
    const char *baseline_of; /* the metric that it is the baseline of; NULL: it is none */
    int place;               /* in the order of a report */
};

/* Of a workload; NULL: of all that have such a metric, and then what they do not agree in is not known. */
struct wl_meaning wl_meaning_of(const struct wl_metric_def_rows *defs, const char *workload, const char *name);

/* Does a metric say what was learned? Learning rates and seconds do not. */
bool wl_is_learning(const char *name);

/* By place, then by name. */
int wl_meaning_order(const struct wl_meaning *a, const struct wl_meaning *b);

/* "Accuracy on held-out data", to begin a title with; names stay as they are. */
char *wl_meaning_title(const struct wl_meaning *m, struct wl_arena *a);

/* What an axis has room for beside its unit: the words, or the name where they are too long. */
const char *wl_meaning_axis(const struct wl_meaning *m);

/* " Which way is better was guessed from the name.", or "". */
const char *wl_meaning_guess(const struct wl_meaning *m);

#endif
