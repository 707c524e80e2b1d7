/* The choice of a setting for each workload, as wattlaw recommend makes it without options, and what each factor
 * changes. */
#ifndef WL_REPORT_CHOICES_H
#define WL_REPORT_CHOICES_H

#include "advise/advise.h"
#include "law/law.h"

struct wl_report_choice {
    const char *workload; /* "": the runs name none */
    const char *refusal;  /* why there is nothing to choose, a sentence; then all below but the campaign is empty */
    struct wl_choose_campaign campaign;
    struct wl_choose_limit limit;
    struct wl_choose_options options; /* minimize: the energy, or the time where no energy was measured */
    struct wl_choose_input input;
    struct wl_choose_result result;
    struct wl_choose_effects effects;
};

struct wl_report_choices {
    struct wl_report_choice **v; /* in the order of appearance */
    size_t n;
};

/* is_store: as in struct wl_choose_campaign_options. */
int wl_report_choices(const struct wl_observations *obs, bool is_store, int64_t drop_epochs,
                      struct wl_report_choices *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The setting that the choice is compared with, or WL_CHOOSE_NO_REFERENCE. */
size_t wl_report_choice_reference(const struct wl_report_choice *c);

/* Is the choice shown to be better than its reference: is 1 outside of the interval of the saving? */
bool wl_report_choice_is_shown(const struct wl_report_choice *c);

#endif
