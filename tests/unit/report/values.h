/* Shared by the tests of the numbers of a report: known_answer_store.h is the whole of the data; each expected number
 * follows from it by the arithmetic next to it. */
#ifndef VALUES_H
#define VALUES_H

#include "test.h"

#include "known_answer_store.h"
#include "report/report.h"

/* Of two runs a and b whose logarithms are d above and below their mean, d = ln 1.25:
 *   sd = d sqrt(2), variance of their mean d^2. */
#define D log(1.25)
/* Quantiles of Student's t at 0.975, from a printed table. */
#define T1 12.706205
#define T2 4.302653
#define T4 2.776445

/* The runs of known_answer_store.h with estimated or measured energies. */
extern const struct hand estimated, measured;

/* The report of the runs, without the first epoch of each. */
struct wl_document *report_of(const struct hand *h, struct wl_report_options options, struct wl_arena *a);
struct wl_document *known_answer_report(const struct hand *h, struct wl_arena *a);

/* A table or a figure by its id, the figure as the page reads it; both fail where there is none. */
const struct wl_report_table *table(const struct wl_document *d, const char *id);
const struct wl_json *figure(const struct wl_document *d, const char *id);

const struct wl_figure *find_figure(const struct wl_document *d, const char *id); /* NULL: none */

/* Does the note on the figure say `what`, "estimated" or "simulated"? */
bool flag(const struct wl_json *figure, const char *what);

const struct wl_json *series(const struct wl_json *figure, size_t i);

/* Relative error up to 2e-6. */
void assert_near(double is, double want, const char *what);

/* The n values of one member ("x", "y", "lo", "hi") of series i. */
void assert_values(const struct wl_json *figure, size_t i, const char *member, const double *want, size_t n);
#define VALUES(figure, i, member, ...)                                 \
    assert_values(figure, i, member, (const double[]) { __VA_ARGS__ }, \
                  sizeof(const double[]) { __VA_ARGS__ } / sizeof(double))

/* Style and label of series i; label NULL: none. */
void assert_kind(const struct wl_json *figure, size_t i, const char *style, const char *label);

/* With the first epoch a run lasts 4 epoch times. Worker-hours N x 4 t / 3600: 4, 2.56, 8, 5.12, 16, 10.24; kWh: times
 * 40 or 60 W / 1000. */
extern const double worker_h[KNOWN_ANSWER_RUNS], kwh[KNOWN_ANSWER_RUNS];

/* The least squares line of kWh on worker-hours. */
void line_of_energy(double *base, double *slope);

/* One per line. */
char *joined(const struct wl_strs *list, struct wl_arena *a);

#endif
