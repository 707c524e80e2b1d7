/* Runs that ended. */
#ifndef WL_REPORT_SECTIONS_RUNS_H
#define WL_REPORT_SECTIONS_RUNS_H

#include "report/data.h"

/* Why the numbers of a run that ended are not used, or NULL. */
char *wl_report_run_reason(const struct wl_run_row *run, struct wl_arena *a);

#endif
