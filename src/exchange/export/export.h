/* Exporters, one per file. docs/reference/exporting.md describes each format and its source. */
#ifndef WL_EXCHANGE_EXPORT_EXPORT_H
#define WL_EXCHANGE_EXPORT_EXPORT_H

#include "store/read.h"

#include <stdio.h>

/* ---- observations ---- */

/* All columns: the canonical ones, then the extra ones. */
struct wl_obs_columns {
    struct wl_obs_column *v;
    size_t n;
};
struct wl_obs_columns wl_obs_columns(const struct wl_observations *obs, struct wl_arena *a);

/* Writes the canonical columns, then the extra ones; missing values are empty fields. Numbers have enough digits to be
 * read back exactly. */
void wl_obs_write_csv(const struct wl_observations *obs, FILE *to);

/* JSON Lines: one object per row, without missing fields. */
void wl_obs_write_jsonl(const struct wl_observations *obs, FILE *to);

/* CSV in long form, one line per value: the settings, run, epoch, then quantity,unit,value,estimated,simulated. The
 * main metric has its own name as quantity. Missing values have no line. */
void wl_obs_write_long(const struct wl_observations *obs, FILE *to);

/* ---- samples ---- */

/* Writes every reading of these runs as CSV in long form, one line per reading:
 * run,host,device,sensor,quantity,unit,scope,variant,estimated,simulated,t_s,value
 * t_s counts from the start of the run; a reading that failed has an empty value. */
int wl_samples_write_csv(struct wl_store *s, const struct wl_run_rows *runs, FILE *to, struct wl_err *e) WL_MUST_CHECK;

/* The same in wide form: one line per run and instant, one column per series of the runs; empty where a series has no
 * reading at the instant, NaN where its reading failed. */
int wl_samples_write_wide(struct wl_store *s, const struct wl_run_rows *runs, FILE *to, struct wl_err *e) WL_MUST_CHECK;

/* ---- runs ---- */

/* What is exported of runs. */
struct wl_export {
    struct wl_store *store;
    const struct wl_run_rows *runs; /* have begun */
    const struct wl_strs *fields;   /* "NAME=VALUE": what a format asks for and no measurement holds */
};

/* Each takes whole runs. WL_EINVAL: the format cannot hold them, or asks for a field that is not given; WL_EUSAGE: a
 * field that it does not have. */
typedef int wl_export_writer(const struct wl_export *x, FILE *to, struct wl_err *e);

/* Text of Prometheus and of OpenMetrics 1.0, which are the same for gauges without timestamps. */
wl_export_writer wl_export_openmetrics;

/* The CSV that ZeusMonitor logs: a window per epoch, or per run without epochs, with the energy of each GPU. */
wl_export_writer wl_export_zeus;

/* The JSON of github-action-benchmark's customSmallerIsBetter: time and energy of each configuration. */
wl_export_writer wl_export_benchmark;

/* A report of one run in the format of Boavizta's BoAmps. */
wl_export_writer wl_export_boamps;

/* The Trace Event Format, which Perfetto and chrome://tracing open: runs, epochs and phases as slices, readings as
 * counters, on one time line. */
wl_export_writer wl_export_trace;

/* Now, or the time that SOURCE_DATE_EPOCH gives (reproducible-builds.org): ns since 1970. */
int64_t wl_export_now_ns(void);

/* "2026-01-31 12:00:00", UTC. */
char *wl_export_date(int64_t wall_ns, struct wl_arena *a);

#endif
