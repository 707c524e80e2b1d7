/* An experiment while it is read: experiment.c fills it in from the file and --set, experiment_check.c completes and
 * checks it. */
#ifndef WL_CAMPAIGN_EXPERIMENT_READER_H
#define WL_CAMPAIGN_EXPERIMENT_READER_H

#include "campaign/internal.h"

struct wl_experiment_reader {
    struct wl_experiment *x;
    const struct wl_ini *ini;
    const struct wl_strs *sets; /* "section.key=value" texts; NULL: none */
    size_t cap_user;
    struct wl_arena *a;
};

/* The defaults that depend on other keys, then the checks. WL_EINVAL with the place of the value. */
int wl_experiment_complete(struct wl_experiment_reader *r, struct wl_err *e) WL_MUST_CHECK;

#endif
