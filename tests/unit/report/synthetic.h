/* Made-up figures, tables and a document for the tests of the renderers. */
#ifndef TESTS_REPORT_SYNTHETIC_H
#define TESTS_REPORT_SYNTHETIC_H

#include "report/report.h"

/* Six workloads at 2 to 424 workers on log-log axes: runs, law, band, ideal line. */
struct wl_figure *synthetic_scaling(struct wl_arena *a);

/* Bars with names under them, one value missing. */
struct wl_figure *synthetic_bars(struct wl_arena *a);

/* A line with a gap and a value alone in it, a band, vertical lines. */
struct wl_figure *synthetic_trace(struct wl_arena *a);

/* Names that would break out of HTML, JSON, LaTeX, Markdown and gnuplot if they were not escaped. */
extern const char synthetic_hostile[];
struct wl_figure *synthetic_hostile_figure(struct wl_arena *a);
struct wl_report_table *synthetic_table(struct wl_arena *a, bool hostile);

/* `most` rows of each of n workloads w0, w1 ..., then `last` rows of resnet50, the first of which is notable. */
struct wl_report_table *synthetic_long_table(struct wl_arena *a, const char *id, size_t n, size_t most, size_t last);

struct wl_document *synthetic_document(struct wl_arena *a);

/* With tables that are longer than what a page holds of them: "long" of two workloads, and "crowd" of so many that some
 * have no room. */
struct wl_document *synthetic_crowded_document(struct wl_arena *a);

#endif
