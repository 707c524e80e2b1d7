/* Runs that ended, and what their devices did. */
#ifndef WL_REPORT_SECTIONS_RUNS_H
#define WL_REPORT_SECTIONS_RUNS_H

#include "report/data.h"

/* Why the numbers of a run that ended are not used, or NULL. */
char *wl_report_run_reason(const struct wl_run_row *run, struct wl_arena *a);

/* A column for the clock that the GPUs ran at, of each kind: "SM clock", then `suffix`. Its cells are those of an array
 * by enum wl_cap_kind. */
void wl_report_clock_columns(struct wl_report_columns *to, const char *suffix, struct wl_arena *a);
void wl_report_clock_cells(struct wl_report_table *t, const double mhz[WL_CAP_KINDS]);

#endif
