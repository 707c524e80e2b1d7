/* Settings as named values for readers. */
#include "settings/settings.h"

#include <math.h>
#include <string.h>

static void add(struct wl_settings_values *list, const char *name, const char *value, bool number, struct wl_arena *a)
{
    WL_GROW(a, list->v, list->n, list->cap);
    list->v[list->n++] = (struct wl_settings_value) { .name = name, .value = value, .number = number };
}

static void add_number(struct wl_settings_values *list, const char *name, double value, struct wl_arena *a)
{
    if (!isnan(value)) add(list, name, wl_strf(a, "%.15g", value), true, a);
}

/* The members of the JSON object in `extra`; text that does not parse is shown unchanged. */
static void add_extra(struct wl_settings_values *list, const char *extra, struct wl_arena *a)
{
    struct wl_json *object;
    struct wl_err e;
    if (!extra) return;
    if (wl_json_parse(extra, "settings", &object, a, &e)) {
        add(list, "extra", extra, false, a);
        return;
    }
    for (const char *key = wl_json_key(object, NULL); key; key = wl_json_key(object, key)) {
        const struct wl_json *v = wl_json_get(object, key);
        const char *text = wl_json_str(v);
        if (text)
            add(list, key, text, false, a);
        else
            add(list, key, wl_json_text(v, 0, a), !isnan(wl_json_real(v)), a);
    }
}

struct wl_settings_values wl_settings_values(const struct wl_settings *set, struct wl_arena *a)
{
    struct wl_settings_values list = { 0 };
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        const char *text = wl_setting_string(r, set);
        if (text) add(&list, r->name, text, false, a);
        add_number(&list, r->name, wl_setting_real(r, set), a);
    }
    add_extra(&list, set->extra, a);
    return list;
}

char *wl_settings_text(const struct wl_settings *set, struct wl_arena *a)
{
    const struct wl_settings_values list = wl_settings_values(set, a);
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < list.n; i++) {
        if (t.n) wl_text_add(&t, " ");
        if (strcmp(list.v[i].name, "workload") == 0)
            wl_text_add(&t, list.v[i].value);
        else
            wl_text_addf(&t, "%s=%s", list.v[i].name, list.v[i].value);
    }
    return t.s;
}
