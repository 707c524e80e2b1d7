#include "power/energy_sources.h"

/* In order of preference; what one tier covers does not overlap. The scopes of a tier are a bit set. A node is there
 * once, however many meters it has: the first one counts. */
static const struct tier {
    unsigned scopes;
    bool estimated;
    const char *label;
} tiers[] = {
    { 1u << WL_SCOPE_GPU, false, "gpu" },
    { 1u << WL_SCOPE_MODULE, false, "module" },
    { 1u << WL_SCOPE_PACKAGE | 1u << WL_SCOPE_DRAM, false, "package" },
    { 1u << WL_SCOPE_NODE, false, "node" },
    { 1u << WL_SCOPE_PACKAGE, true, "package (estimated)" },
};

static struct wl_energy_source *source_of(struct wl_energy_source *list, size_t *n, int device)
{
    for (size_t i = 0; i < *n; i++) {
        if (list[i].device == device) return &list[i];
    }
    list[*n] = (struct wl_energy_source) { .device = device, .counter = -1, .power = -1 };
    return &list[(*n)++];
}

static size_t sources_of_tier(const struct tier *tier, const struct wl_channel *channels, size_t n,
                              struct wl_energy_source *out, bool *dram)
{
    size_t found = 0;
    *dram = false;
    for (size_t i = 0; i < n; i++) {
        const struct wl_channel *c = &channels[i];
        bool energetic = c->quantity == WL_ENERGY || c->quantity == WL_POWER;
        if (!energetic || c->estimated != tier->estimated || !(tier->scopes >> c->scope & 1)) continue;
        if (c->scope == WL_SCOPE_NODE && found > 0 && c->device != out[0].device) continue;
        struct wl_energy_source *source = source_of(out, &found, c->device);
        *(c->quantity == WL_ENERGY ? &source->counter : &source->power) = (int)i;
        *dram |= c->scope == WL_SCOPE_DRAM;
    }
    return found;
}

size_t wl_energy_sources(const struct wl_channel *channels, size_t n, struct wl_energy_source *out,
                         const char **scope_label)
{
    *scope_label = NULL;
    for (size_t t = 0; t < WL_COUNT(tiers); t++) {
        bool dram;
        size_t found = sources_of_tier(&tiers[t], channels, n, out, &dram);
        if (found == 0) continue;
        *scope_label = dram ? "package+dram" : tiers[t].label;
        return found;
    }
    return 0;
}
