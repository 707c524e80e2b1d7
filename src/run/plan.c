/* A run that is not of a campaign's grid. */
#include "run/run.h"

int wl_run_plan(struct wl_store *s, const char *campaign, const struct wl_settings *set, int64_t *run, struct wl_err *e)
{
    int64_t of, trial;
    int rc = wl_store_add_campaign(s, campaign, "", WL_VERSION, &of, e);
    if (rc == 0) rc = wl_store_add_trial(s, of, set, NULL, &trial, e);
    return rc ? rc : wl_store_plan_run(s, &(struct wl_run_plan) { .trial = trial }, run, e);
}
