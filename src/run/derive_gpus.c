/* The GPUs that a job computes on, where its start marks name them: the node's others are measured, and do not count.
 */
#include "run/derive.h"

static bool names(const struct wl_derivation *d, const char *uuid)
{
    const char *start = wl_mark_word_name(WL_MARK_START);
    struct wl_mark m;
    for (size_t i = 0; i < d->marks.n; i++)
        if (wl_str_eq(d->marks.v[i].word, start) && wl_derive_parse_mark(&d->marks.v[i], &m) &&
            wl_str_eq(wl_mark_str(&m, "gpu"), uuid))
            return true;
    return false;
}

static bool is_named(const struct wl_derivation *d, const struct wl_energy_source *s)
{
    const int64_t device = d->channels.v[s->device].device;
    for (size_t i = 0; i < d->devices.n; i++)
        if (d->devices.v[i].id == device) return names(d, d->devices.v[i].uuid);
    return false;
}

size_t wl_derive_keep_named(const struct wl_derivation *d, struct wl_energy_source *sources, size_t n)
{
    size_t kept = 0;
    bool any = false;
    for (size_t i = 0; i < n && !any; i++) any = is_named(d, &sources[i]);
    if (!any) return n;
    for (size_t i = 0; i < n; i++)
        if (is_named(d, &sources[i])) sources[kept++] = sources[i];
    return kept;
}
