/* Figures and tables as values, each described once and drawn by several renderers, and the report of a store.
 *
 *   store, law  ->  wl_report_build  ->  struct wl_document  ->  HTML (Chart.js), SVG and PDF (gnuplot),
 *                                                                CSV, Markdown, LaTeX, text
 *
 * Missing is NAN (numbers) or NULL (text): an empty cell in a table, a gap in a line. Every renderer escapes what
 * it is given, so names may hold any bytes. Values live in the arena that they were built in. See docs/adr/080.
 */
#ifndef WL_REPORT_REPORT_H
#define WL_REPORT_REPORT_H

#include "report/document/document.h"
#include "report/escape.h"
#include "report/fan_figure.h"
#include "report/figure/colour.h"
#include "report/figure/ticks.h"
#include "report/metric_docs.h"

struct wl_store;
struct wl_observations;
struct wl_planner_plan;
struct wl_units_input;

/* Carbon and cost of the energy. */
struct wl_report_footprint {
    double pue;                                   /* energy at the meter over energy of the devices */
    const char *carbon;                           /* description of the intensity, with its source; NULL: no carbon */
    double (*g_per_kwh)(void *data, int64_t run); /* g CO2e per kWh during the run; NAN: unknown */
    void *data;
    double carbon_lo, carbon_hi; /* interval of a constant intensity; NAN: none */
    double price;                /* per kWh; NAN: no cost */
    const char *currency;
};

struct wl_report_options {
    const struct wl_report_footprint *footprint; /* NULL: neither carbon nor cost */
    int64_t campaign;                            /* 0: all campaigns of the store */
    int64_t run;         /* the run whose power is drawn over time; 0: chosen by the rule of docs/metrics.md */
    struct wl_reals at;  /* one or two worker counts, ascending, at which figures compare; n 0: the ends of the scale */
    const char *work;    /* of times and energies, as in wl_law_per_work; NULL: epochs */
    int64_t drop_epochs; /* first epochs of a run that the law excludes */
    const struct wl_planner_plan *plan; /* shown beside the measurements, its first machine; NULL: none */
    bool undated;                       /* does not say when it is written: the same store gives the same bytes */
    struct wl_progress *progress;       /* started by the caller; NULL: none */
};

/* Reads the store and describes the report. WL_EJOB: no run is finished; WL_ENOENT: `run` does not
 * exist; WL_EINVAL: the plan has none of the workloads, or lacks a number; no row has the work that was asked for. */
int wl_report_build(struct wl_document **out, struct wl_store *store, const struct wl_report_options *options,
                    struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* What the card at the head of the report says of the runs of a store: an answer for each workload. WL_EJOB: no run is
 * finished. */
int wl_report_answers(const struct wl_observations *obs, int64_t drop_epochs, struct wl_answer **out, size_t *n,
                      struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Sets the readings of wl_units_compare to what the GPUs of a store did: in its runs, and where only one run has
 * several GPUs, in its epochs too; and how long its ranks computed. */
int wl_report_unit_readings(struct wl_store *s, struct wl_units_input *in, struct wl_arena *a,
                            struct wl_err *e) WL_MUST_CHECK;

/* The report of an observation table, which has neither readings nor devices: sections on those are left out. Its runs
 * are numbered in order of appearance. */
int wl_report_build_table(struct wl_document **out, const struct wl_observations *table,
                          const struct wl_report_options *options, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
