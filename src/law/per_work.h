/* Steps, samples and tokens as the work of a law, where epochs are not. */
#ifndef WL_LAW_PER_WORK_H
#define WL_LAW_PER_WORK_H

#include "base/base.h"

#define WL_LAW_WORK_CHOICES "epochs|steps|samples|tokens"

/* Scales each row's time, energy and counts to 1000 steps (updates), 10^6 samples or 10^9 tokens, and sets obs->note,
 * which laws print; "epochs" and NULL leave them. Rows without that count lose their time and energy. WL_EINVAL: no row
 * has it. */
int wl_law_per_work(struct wl_observations *obs, const char *work, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

struct wl_law_work {
    const char *name, *column; /* "tokens", the column of counts */
    const char *amount, *one;  /* "10^9 tokens", "token" */
    double n;                  /* in the amount: 1e9 */
};

/* NULL where the work is an epoch, or a run without epochs ("epochs" and NULL). */
const struct wl_law_work *wl_law_work_of(const char *name);

/* Tokens take the place of samples, for what counts work in samples. WL_EINVAL: no row has tokens. */
int wl_law_tokens_as_samples(struct wl_observations *obs, struct wl_err *e) WL_MUST_CHECK;

#endif
