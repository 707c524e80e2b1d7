#include "report/labels.h"

static bool is_taken(const struct wl_strs *taken, const char *text)
{
    for (size_t i = 0; i < taken->n; i++) {
        if (wl_str_eq(taken->v[i], text)) return true;
    }
    return false;
}

const char *wl_unique_name(struct wl_strs *taken, const char *text, const char *before, const char *after,
                           struct wl_arena *a)
{
    const char *own = text;
    for (size_t k = 2; is_taken(taken, own); k++) own = wl_strf(a, "%s%s%zu%s", text, before, k, after);
    wl_strs_add(a, taken, own);
    return own;
}

const char *wl_provenance_note(bool estimated, bool simulated)
{
    if (estimated && simulated) return "estimated and simulated values";
    if (estimated) return "estimated values";
    return simulated ? "simulated values" : NULL;
}

char *wl_span_quantity(const char *span, bool amount, const char *quantity, struct wl_arena *a)
{
    return amount ? wl_strf(a, "%s of %s", quantity, span) : wl_strf(a, "%s %s", span, quantity);
}
