#include "power/energy.h"

#include <math.h>

int64_t wl_max_gap_ns(double period_s)
{
    const int64_t least = WL_NS_PER_S / 4;
    int64_t three = (int64_t)(3 * period_s * WL_NS_PER_S);
    return three > least ? three : least;
}

double wl_energy_ratio(double counter_j, double integral_j)
{
    return isfinite(counter_j) && isfinite(integral_j) && integral_j != 0 ? counter_j / integral_j : NAN;
}

bool wl_energy_ratio_off(double ratio) { return isfinite(ratio) && fabs(ratio - 1) > WL_RATIO_LIMIT; }

/* ---- Which method counts ---- */

/* Is x the better answer? One that is known, then the narrower interval; of two unknown ones that of more readings. */
static bool is_better(const struct wl_energy *x, const struct wl_energy *than)
{
    if (!than) return true;
    bool known = !isnan(x->energy_j), other = !isnan(than->energy_j);
    if (known != other) return known;
    return known ? x->hi_j - x->lo_j < than->hi_j - than->lo_j : x->coverage > than->coverage;
}

/* A counter has counted what readings of power did not see: an energy outside of its bounds is wrong, however narrow its
 * own interval is. Of readings that are few and happen to be alike that is narrow. */
static bool contradicts(const struct wl_energy *x, const struct wl_energy *counter)
{
    if (!counter || isnan(counter->energy_j)) return false;
    return x->energy_j < counter->lo_j || x->energy_j > counter->hi_j;
}

enum wl_energy_method wl_energy_choose(const struct wl_energy *counter, const struct wl_energy *integral,
                                       const struct wl_energy *combined)
{
    const struct wl_energy *of[] = { counter, integral, combined }, *best = NULL;
    enum wl_energy_method method = WL_BY_COUNTER;
    if (counter && !isnan(counter->energy_j) && counter->coverage == 1) return WL_BY_COUNTER;
    for (enum wl_energy_method m = WL_BY_COUNTER; m <= WL_COMBINED; m++) {
        if (!of[m] || contradicts(of[m], counter) || !is_better(of[m], best)) continue;
        best = of[m];
        method = m;
    }
    return method;
}

const char *wl_energy_method_name(enum wl_energy_method m)
{
    static const char *const names[] = { "counter", "integral", "combined" };
    return names[m];
}

/* ---- Which channels count ---- */

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
