/* How each reported number is computed. */
#ifndef WL_REPORT_METRIC_DOCS_H
#define WL_REPORT_METRIC_DOCS_H

#include "base/base.h"

/* How each reported number is computed; docs/metrics.md holds the same rows, and a test compares them. */
struct wl_metric_doc {
    const char *id, *name, *unit, *formula, *source; /* unit "" for a ratio */
};
extern const struct wl_metric_doc wl_metric_docs[]; /* ends with id NULL */
const struct wl_metric_doc *wl_metric_doc(const char *id);

#endif
