/* What the hierarchical model says of the time of each group: computed once for all sections, in threads. */
#ifndef WL_REPORT_MODELS_H
#define WL_REPORT_MODELS_H

#include "law/law.h"

struct wl_report_model {
    struct wl_law_posterior posterior; /* refused: the others are empty */
    struct wl_law_curves curves;
    struct wl_law_fan fan; /* over the measured worker counts, where the power law is rejected; else n is 0 */
};

/* *out has one for each group of the law. Not `thorough`: only those of groups whose power law is rejected, with their
 * fans and without curves. WL_EINVAL: a group cannot be reduced. */
int wl_report_models(const struct wl_law_result *law, bool thorough, struct wl_report_model **out, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

#endif
