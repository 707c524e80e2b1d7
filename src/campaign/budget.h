/* The limits of a whole campaign: what its runs have used of them, also in earlier calls, what the rest will take, and
 * when to stop. docs/adr/151 */
#ifndef WL_CAMPAIGN_BUDGET_H
#define WL_CAMPAIGN_BUDGET_H

#include "campaign/sweep.h"

struct wl_sweep_budget;

/* Reads what the campaign has used so far. NULL in *out without limits. */
int wl_sweep_budget_open(struct wl_sweep *s, struct wl_sweep_budget **out, struct wl_err *e) WL_MUST_CHECK;

/* Before planned run i: warns once per limit if the rest is expected to exceed it. WL_EINTR: the run is not begun, as a
 * limit is used up or would be by a run of its trial. */
int wl_sweep_budget_check(struct wl_sweep_budget *b, size_t i, struct wl_err *e) WL_MUST_CHECK;

/* Stops the next run where nothing of a limit is left; in `a`, which outlives the run. */
const struct wl_run_watch *wl_sweep_budget_watch(struct wl_sweep_budget *b, struct wl_arena *a);

/* Adds planned run i, which has ended. WL_EINTR: a limit stopped it. */
int wl_sweep_budget_add(struct wl_sweep_budget *b, size_t i, struct wl_err *e) WL_MUST_CHECK;

#endif
