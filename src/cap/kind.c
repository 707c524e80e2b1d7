/* Kinds of caps and the values that devices take. */
#include "cap/setter.h"

#include <math.h>
#include <string.h>

const char *wl_cap_kind_name(enum wl_cap_kind k) { return wl_setting_of_cap(k)->name; }
const char *wl_cap_kind_unit(enum wl_cap_kind k) { return wl_setting_of_cap(k)->unit; }

bool wl_cap_is_power(enum wl_cap_kind k) { return !wl_setting_of_cap(k)->domain; }

const struct wl_cap_request wl_cap_none = { {
#define SETTING_CAP(member, option, unit, kind, ...) [kind] = NAN,
#include "settings/settings.def"
} };

bool wl_cap_is_requested(const struct wl_cap_request *r)
{
    for (int k = 0; k < WL_CAP_KINDS; k++)
        if (!isnan(r->value[k])) return true;
    return false;
}

static bool is_step(const struct wl_reals *steps, enum wl_cap_kind kind, double value)
{
    for (size_t i = 0; i < steps->n; i++)
        if (wl_cap_same(kind, steps->v[i], value)) return true;
    return steps->n == 0;
}

char *wl_cap_refusal(const struct wl_cap_range *r, enum wl_cap_kind kind, double value, struct wl_arena *a)
{
    bool inside = !(value < r->min || value > r->max);
    if (inside && is_step(&r->steps, kind, value)) return NULL;
    return wl_strf(a, "it takes %s", wl_cap_range_text(r, kind, a));
}

char *wl_cap_range_text(const struct wl_cap_range *r, enum wl_cap_kind kind, struct wl_arena *a)
{
    const char *unit = wl_cap_kind_unit(kind);
    if (r->steps.n == 0)
        return isnan(r->max) ? NULL : wl_strf(a, "%.6g to %.6g %s", isnan(r->min) ? 0 : r->min, r->max, unit);
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < r->steps.n; i++) wl_text_addf(&t, "%s%.6g", i ? ", " : "", r->steps.v[i]);
    wl_text_addf(&t, " %s", unit);
    return t.s;
}

/* RAPL has a resolution of 1/8 W or coarser, NVML of 1 mW; CPU frequencies have steps of 25 to 100 MHz. */
bool wl_cap_same(enum wl_cap_kind kind, double x, double y)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    double min_step = wl_cap_is_power(kind) ? 0.5 : 1;
    return fabs(x - y) <= fmax(min_step, 0.005 * fmax(x, y));
}

static size_t device_length(const char *name)
{
    const char *limit = strrchr(name, '/');
    return limit ? (size_t)(limit - name) : strlen(name);
}

size_t wl_cap_count_devices(const char *const *device, size_t n)
{
    size_t devices = 0;
    for (size_t i = 0; i < n; i++) {
        bool seen = false;
        size_t length = device_length(device[i]);
        for (size_t k = 0; k < i; k++)
            seen |= device_length(device[k]) == length && strncmp(device[k], device[i], length) == 0;
        devices += !seen;
    }
    return devices;
}
