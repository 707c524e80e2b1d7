/* State of a cap search. Candidates of one value, because the device clamps, are one setting. */
#ifndef WL_ADVISE_CAP_STATE_H
#define WL_ADVISE_CAP_STATE_H

#include "advise/cap/gain.h"

struct wl_advise_cap {
    struct wl_advise_cap_opts opts;
    double asked[WL_ADVISE_CAP_MAX], value[WL_ADVISE_CAP_MAX]; /* of candidates */
    struct wl_advise_cap_evidence evidence[WL_ADVISE_CAP_MAX]; /* of candidates */
    size_t failed[WL_ADVISE_CAP_MAX], failed_in_a_row[WL_ADVISE_CAP_MAX];
    bool given_up[WL_ADVISE_CAP_MAX];
    size_t used; /* windows */
    double level;

    size_t settings;
    bool stale, moved;                    /* estimates, and values of candidates, have changed since the last update */
    size_t setting_of[WL_ADVISE_CAP_MAX]; /* candidates of one value are one setting */
    size_t candidate[WL_ADVISE_CAP_MAX];  /* of a setting: the one to name it by */
    bool unavailable[WL_ADVISE_CAP_MAX];  /* settings */
    double within[WL_ADVISE_CAP_MAX], gain[WL_ADVISE_CAP_MAX]; /* settings */
    struct wl_advise_cap_goal goal;
    struct wl_advise_cap_model model;
    struct wl_advise_cap_posterior posterior;
    struct wl_advise_cap_estimate estimate[WL_ADVISE_CAP_MAX];
};

/* options.c */
int wl_advise_cap_check(const struct wl_advise_cap_opts *o, struct wl_err *e);
int wl_advise_cap_check_noise(const struct wl_advise_cap_noise *n, struct wl_err *e);

/* settings.c: takes note of the value that the device enforced for candidate i; numbers the settings and names each by
 * a candidate; fills the model with them. */
void wl_advise_cap_enforce(struct wl_advise_cap *s, size_t i, double enforced);
void wl_advise_cap_settle(struct wl_advise_cap *s);
void wl_advise_cap_fill(struct wl_advise_cap *s);
bool wl_advise_cap_measured(const struct wl_advise_cap *s, size_t setting);

/* estimate.c: brings posterior and estimates up to date. */
void wl_advise_cap_update(struct wl_advise_cap *s);

#endif
