#include "campaign/internal.h"

#include <math.h>

/* clang-format off */
/* In the order of the grid: the last axis varies fastest. */
static const struct wl_sweep_axis axes[] = {
#define AXIS(member, grid, type, list, field) \
    [grid] = { #member, type, offsetof(struct wl_sweep_keys, list), offsetof(struct wl_trial, field), -1 },
#define SETTING_TEXT(member, option, grid, ...)             AXIS(member, grid, WL_STRS, member, member)
#define SETTING_COUNT(member, option, unit, max, grid, ...) AXIS(member, grid, WL_INTS, member, member)
#define SETTING_CAP(member, option, unit, kind, grid, ...)  \
    [grid] = { #member, WL_REALS, offsetof(struct wl_sweep_keys, cap[kind]), offsetof(struct wl_trial, cap.value[kind]), kind },
#include "settings/settings.def"
#undef AXIS
    [WL_SETTING_AXES] = { 0 },
};
/* clang-format on */

const struct wl_sweep_axis *wl_sweep_axes(void) { return axes; }

const struct wl_sweep_axis *wl_sweep_axis_find(const char *key)
{
    for (const struct wl_sweep_axis *x = axes; x->key; x++)
        if (wl_str_eq(x->key, key)) return x;
    return NULL;
}

static const void *list_of(const struct wl_sweep_axis *axis, const struct wl_sweep_keys *sweep)
{
    return (const char *)sweep + axis->list_offset;
}

size_t wl_sweep_axis_count(const struct wl_sweep_axis *axis, const struct wl_sweep_keys *sweep)
{
    const void *list = list_of(axis, sweep);
    switch (axis->type) {
    case WL_STRS: return ((const struct wl_strs *)list)->n;
    case WL_INTS: return ((const struct wl_ints *)list)->n;
    default: return ((const struct wl_reals *)list)->n;
    }
}

void wl_sweep_axis_take(const struct wl_sweep_axis *axis, const struct wl_sweep_keys *sweep, size_t i,
                        struct wl_trial *t)
{
    const void *list = list_of(axis, sweep);
    void *field = (char *)t + axis->field_offset;
    switch (axis->type) {
    case WL_STRS: *(const char **)field = ((const struct wl_strs *)list)->v[i]; break;
    case WL_INTS: *(int64_t *)field = ((const struct wl_ints *)list)->v[i]; break;
    default: *(double *)field = ((const struct wl_reals *)list)->v[i]; break;
    }
}

const char *wl_sweep_axis_text(const struct wl_sweep_axis *axis, const struct wl_trial *t, struct wl_arena *a)
{
    const void *field = (const char *)t + axis->field_offset;
    switch (axis->type) {
    case WL_STRS: return *(const char *const *)field;
    case WL_INTS: {
        int64_t v = *(const int64_t *)field;
        return v ? wl_strf(a, "%lld", (long long)v) : NULL;
    }
    default: {
        double v = *(const double *)field;
        return isnan(v) ? NULL : wl_strf(a, "%.9g", v);
    }
    }
}

struct wl_settings wl_trial_settings(const struct wl_trial *t)
{
    struct wl_settings set = wl_settings_none;
    for (const struct wl_sweep_axis *axis = axes; axis->key; axis++) {
        const void *field = (const char *)t + axis->field_offset;
        const struct wl_setting *r = wl_setting_find(axis->key);
        int64_t count = axis->type == WL_INTS ? *(const int64_t *)field : 0;
        if (axis->type == WL_STRS) wl_setting_set_string(r, &set, *(const char *const *)field);
        if (axis->type == WL_REALS) wl_setting_set_real(r, &set, *(const double *)field);
        if (count) wl_setting_set_real(r, &set, (double)count);
    }
    return set;
}
