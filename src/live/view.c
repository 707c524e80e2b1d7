#include "live/view.h"

#include <math.h>

const struct wl_live_reading *wl_live_reading_of(const struct wl_live_view *v, int device, enum wl_quantity q,
                                                 int *channel)
{
    for (size_t i = 0; i < v->sensors->n_channels; i++) {
        const struct wl_channel *c = &v->sensors->channels[i];
        if (c->device != device || c->quantity != q || c->scope == WL_SCOPE_JOB || c->scope == WL_SCOPE_GPU_MEMORY)
            continue;
        if (channel) *channel = (int)i;
        return &v->readings[i];
    }
    return NULL;
}

static enum wl_provenance provenance(const struct wl_live_view *v, int channel)
{
    const struct wl_channel *c = &v->sensors->channels[channel];
    return wl_provenance_of(c->estimated, c->simulated);
}

struct wl_amount wl_live_energy_total(const struct wl_live_view *v)
{
    struct wl_amount sum = wl_amount_of(v->energy_scope ? 0 : NAN, "J", WL_MEASURED);
    for (size_t i = 0; i < v->n_energies; i++) {
        const struct wl_live_energy *x = &v->energies[i];
        if (!x->counted) continue;
        sum.value += x->since_start_j;
        sum.from |= provenance(v, x->channel);
    }
    return sum;
}

/* Of a device's channels of power, that of the scope whose energy counts. */
static int power_channel(const struct wl_live_view *v, const struct wl_live_energy *x)
{
    const struct wl_channel *energy = &v->sensors->channels[x->channel];
    for (size_t i = 0; i < v->sensors->n_channels; i++) {
        const struct wl_channel *c = &v->sensors->channels[i];
        if (c->device == energy->device && c->quantity == WL_POWER && c->scope == energy->scope) return (int)i;
    }
    return -1;
}

struct wl_amount wl_live_power(const struct wl_live_view *v)
{
    struct wl_amount sum = wl_amount_of(v->energy_scope ? 0 : NAN, "W", WL_MEASURED);
    for (size_t i = 0; i < v->n_energies; i++) {
        if (!v->energies[i].counted) continue;
        const int c = power_channel(v, &v->energies[i]);
        sum.value += c < 0 ? NAN : v->readings[c].value;
        sum.from |= provenance(v, c < 0 ? v->energies[i].channel : c);
    }
    return sum;
}
