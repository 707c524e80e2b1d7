/* Campaigns, their trials, and which repeats are to be run. */
#ifndef WL_STORE_CAMPAIGN_H
#define WL_STORE_CAMPAIGN_H

#include "store/open.h"
#include "store/records.h"

/* The campaign of that name, made when missing. A text that differs from the newest one stored is added. */
int wl_store_add_campaign(struct wl_store *s, const char *name, const char *experiment, const char *version,
                          int64_t *id, struct wl_err *e) WL_MUST_CHECK;

/* At most one process runs a campaign, and one campaign of a store runs at a time: holds locks until close. WL_EPERM if
 * another process does; the message names the conflict. */
int wl_store_lock_campaign(struct wl_store *s, int64_t campaign, struct wl_err *e) WL_MUST_CHECK;

/* Would wl_store_lock_campaign be refused? Takes nothing; 0: a campaign that is not there yet. */
int wl_store_campaign_is_free(struct wl_store *s, int64_t campaign, struct wl_err *e) WL_MUST_CHECK;

/* The trial with these settings, made when missing; `skipped` (NULL: can run) is brought up to date. */
int wl_store_add_trial(struct wl_store *s, int64_t campaign, const struct wl_settings *set, const char *skipped,
                       int64_t *id, struct wl_err *e) WL_MUST_CHECK;

/* Plans a repeat (from 1) unless it is planned, running or done already; one that was interrupted is planned again as
 * the next attempt, one that failed only with retry_failed. *run is the new or the existing row. repeat 0: the next
 * free number. */
struct wl_run_plan {
    int64_t trial, repeat, seed, position;
    bool retry_failed;
};
int wl_store_plan_run(struct wl_store *s, const struct wl_run_plan *plan, int64_t *run, struct wl_err *e) WL_MUST_CHECK;

/* Drops the planned runs of a campaign, for a new plan; those that were handed to a batch system stay. */
int wl_store_drop_planned(struct wl_store *s, int64_t campaign, struct wl_err *e) WL_MUST_CHECK;

/* Drops one planned run, which was refused before it began; a run that has begun stays. */
int wl_store_drop_run(struct wl_store *s, int64_t run, struct wl_err *e) WL_MUST_CHECK;

#endif
