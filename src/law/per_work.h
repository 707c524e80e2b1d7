/* Steps, samples and tokens as the work of a law, where epochs are not. */
#ifndef WL_LAW_PER_WORK_H
#define WL_LAW_PER_WORK_H

#include "base/base.h"

#define WL_LAW_WORK_CHOICES "epochs|steps|samples|tokens"

/* Scales each row's time, energy and counts to 1000 steps (updates), 10^6 samples or 10^9 tokens, and sets obs->work
 * and obs->note, which laws print; "epochs" and NULL leave them. `samples` becomes what the work amounts to: samples or
 * tokens themselves, of steps their samples, else their tokens. Rows without that count lose their time and energy.
 * WL_EINVAL: no row has it. */
int wl_law_per_work(struct wl_observations *obs, const char *work, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* NULL where the work is an epoch, or a run without epochs ("epochs" and NULL). */
const struct wl_obs_work *wl_law_work_of(const char *name);

/* Tokens take the place of samples, for what counts work in samples. WL_EINVAL: no row has tokens. */
int wl_law_tokens_as_samples(struct wl_observations *obs, struct wl_err *e) WL_MUST_CHECK;

/* Every row has tokens, and none has samples. */
bool wl_law_has_tokens_alone(const struct wl_observations *obs);

/* ", per 10^9 tokens", after the title of a group; "" for epochs. */
const char *wl_law_per_work_text(const struct wl_obs_work *work, struct wl_arena *a);

#endif
