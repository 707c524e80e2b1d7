/* What a device did under its cap: a cap above what the job draws changes nothing, and the reader must see that. */
#include "run/internal.h"

#include <math.h>

/* A limit that has an effect is reached within a few percent. */
static const double REACHED = 0.95;

/* Does a limit of this kind apply to the channel? A GPU may report the power of its module too. */
static bool limits(enum wl_cap_kind kind, const struct wl_channel *channel)
{
    const struct wl_setting *cap = wl_setting_of_cap(kind);
    return wl_str_eq(wl_quantity_name(channel->quantity), cap->quantity) &&
           (channel->scope == WL_SCOPE_MODULE) == cap->of_module && channel->scope != WL_SCOPE_GPU_MEMORY;
}

/* The statistics, over the whole run, of the quantity that a cap limits, and their provenance; NULL: not read. */
static const struct wl_stat_row *stat_of(const struct wl_run_result *r, const struct wl_cap_setting *cap,
                                         enum wl_provenance *from)
{
    for (size_t c = 0; c < r->sensors->n_channels; c++) {
        const struct wl_channel *channel = &r->sensors->channels[c];
        if (!limits(cap->kind, channel) || !wl_str_eq(r->sensors->devices[channel->device].uuid, cap->device)) continue;
        *from = wl_provenance_of(channel->estimated, channel->simulated);
        for (size_t i = 0; i < r->derived.n_stats; i++) {
            const struct wl_stat_row *s = &r->derived.stats[i];
            if (s->channel == r->channel_ids[c] && isnan(s->epoch)) return s;
        }
    }
    return NULL;
}

const char *wl_run_cap_achieved(const struct wl_run_result *r, const struct wl_cap_setting *s, struct wl_arena *a)
{
    enum wl_provenance from = WL_MEASURED;
    const struct wl_stat_row *seen = stat_of(r, s, &from);
    const char *unit = wl_cap_kind_unit(s->kind);
    if (!seen || isnan(seen->max)) return NULL;
    bool acted = seen->max >= REACHED * s->requested;
    return wl_strf(a, "%s: %s %.6g %s: %.5g %s on average, at most %.5g%s%s", s->device, wl_cap_kind_name(s->kind),
                   s->requested, unit, seen->mean, unit, seen->max, wl_provenance_mark(from),
                   acted ? "" : ": the cap never acted");
}

struct wl_cap_row *wl_run_cap_rows(const struct wl_run_result *r, struct wl_arena *a)
{
    const char *host = wl_host_name(a);
    struct wl_cap_row *rows = wl_new_array(a, struct wl_cap_row, r->n_caps);
    for (size_t i = 0; i < r->n_caps; i++) {
        const struct wl_cap_setting *s = &r->caps[i];
        rows[i] = (struct wl_cap_row) { .host = host,
                                        .device = s->device,
                                        .kind = wl_cap_kind_name(s->kind),
                                        .name = s->name,
                                        .setter = s->setter,
                                        .requested = s->requested,
                                        .found = s->found,
                                        .enforced = s->enforced,
                                        .at_end = s->at_end,
                                        .simulated = s->simulated };
    }
    return rows;
}

void wl_settings_set_caps(struct wl_settings *set, const struct wl_cap_request *caps)
{
    for (int k = 0; k < WL_CAP_KINDS; k++)
        wl_setting_set_real(wl_setting_of_cap((enum wl_cap_kind)k), set, caps->value[k]);
}
