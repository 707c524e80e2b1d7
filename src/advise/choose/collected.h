/* The settings of a campaign while they are collected. */
#ifndef WL_ADVISE_CHOOSE_COLLECTED_H
#define WL_ADVISE_CHOOSE_COLLECTED_H

#include "advise/choose/campaign.h"

struct wl_choose_collected {
    const struct wl_observations *obs;
    const struct wl_choose_campaign_options *o;
    struct wl_choose_campaign *c;
    struct wl_joint_runs *runs[WL_JOINT_RESPONSES]; /* [c->n] */
    double *samples;                                /* [c->n] of an epoch, mean over runs; NAN: unknown */
    size_t *group;                                  /* [c->n] of settings with the same names */
    double cross, squares[WL_JOINT_RESPONSES], df;  /* of residuals of runs with both */
    size_t copies, unlike;                          /* runs left out; settings whose runs differ in their work */
    /* Rows without a time or a worker count that can be real, energies and runs whose cap cannot be. */
    size_t bad_rows, bad_energies, bad_caps;
    bool per_sample; /* time is per sample, not per epoch */
    size_t *of_run;  /* [obs->runs] setting of each run; (size_t)-1: none */
    struct wl_arena *a;
};

/* The settings of the workload, with the runs of each. */
int wl_choose_collect_runs(struct wl_choose_collected *s, struct wl_err *e) WL_MUST_CHECK;

/* Peak powers, caps that never acted, and why settings may not be chosen. */
int wl_choose_exclude(struct wl_choose_collected *s, struct wl_err *e) WL_MUST_CHECK;

/* What time and energy are for: ln_work, its draws, and the words. */
int wl_choose_set_work(struct wl_choose_collected *s, struct wl_err *e) WL_MUST_CHECK;

/* What the rows count as samples: "sample", "token". */
static inline const char *wl_choose_noun(const struct wl_choose_work *w) { return w->noun ? w->noun : "sample"; }

#endif
