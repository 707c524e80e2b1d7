#include "advise/batch/largest.h"

#include <inttypes.h>

static uint64_t down_to(uint64_t step, uint64_t x) { return x - x % step; }

int wl_advise_largest_init(struct wl_advise_largest *s, uint64_t first, uint64_t step, uint64_t most, struct wl_err *e)
{
    if (!step) return wl_fail(e, WL_EINVAL, "batches are multiples of 0, expected at least 1");
    if (!most) most = UINT64_MAX;
    if (most < step)
        return wl_fail(e, WL_EINVAL, "largest batch %" PRIu64 " is below the smallest, %" PRIu64, most, step);
    most = down_to(step, most);
    first = first < step ? step : first > most ? most : down_to(step, first);
    *s = (struct wl_advise_largest) { .step = step, .first = first, .most = most };
    return 0;
}

uint64_t wl_advise_largest_next(const struct wl_advise_largest *s)
{
    if (!s->fits && !s->fails) return s->first;
    if (!s->fails) return s->fits == s->most ? 0 : s->fits > s->most / 2 ? s->most : down_to(s->step, s->fits * 2);
    const uint64_t middle = down_to(s->step, s->fits + (s->fails - s->fits) / 2);
    return middle > s->fits ? middle : 0; /* all are multiples of the step */
}

int wl_advise_largest_add(struct wl_advise_largest *s, uint64_t batch, bool fits, struct wl_err *e)
{
    if (!batch || batch % s->step)
        return wl_fail(e, WL_EINVAL, "batch %" PRIu64 " is not a multiple of %" PRIu64, batch, s->step);
    if (fits ? s->fails && batch >= s->fails : batch <= s->fits)
        return wl_fail(e, WL_EINVAL, "batch %" PRIu64 " %s, but %" PRIu64 " %s", batch, fits ? "fits" : "does not fit",
                       fits ? s->fails : s->fits, fits ? "did not" : "did");
    if (fits && batch > s->fits) s->fits = batch;
    if (!fits && (!s->fails || batch < s->fails)) s->fails = batch;
    return 0;
}
