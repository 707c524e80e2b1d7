/* Settings in the words of titles: "4 workers", "cap 250 W", "no power cap". */
#include "settings/settings.h"

#include <string.h>

static char *spaced(const char *name, struct wl_arena *a)
{
    char *words = wl_strdup(a, name);
    for (char *p = words; *p; p++) {
        if (*p == '_') *p = ' ';
    }
    return words;
}

/* A setting of a campaign may have any name: one with a blank is quoted, so that it does not read like one of ours. */
static char *name_words(const char *name, struct wl_arena *a)
{
    return strchr(name, ' ') ? wl_strf(a, "\"%s\"", name) : spaced(name, a);
}

/* Of what is counted: its label is a plural. */
static bool is_counted(const struct wl_setting *s)
{
    return s && s->type == WL_SETTING_COUNT && !s->unit && s->label[strlen(s->label) - 1] == 's';
}

char *wl_setting_words(const char *name, const char *value, struct wl_arena *a)
{
    const struct wl_setting *s = wl_setting_find(name);
    if (s && s->missing)
        return *value ? wl_strf(a, "%s%s%s", s->before ? s->before : "", value, s->after ? s->after : "")
                      : wl_strdup(a, s->missing);
    if (!*value) return wl_strf(a, "no %s", name_words(name, a));
    if (!is_counted(s)) return wl_strf(a, "%s %s", name_words(name, a), value);
    return wl_strf(a, "%s %.*s", value, (int)strlen(s->label) - wl_str_eq(value, "1"), s->label);
}

char *wl_settings_words(const struct wl_settings *set, struct wl_arena *a)
{
    const struct wl_settings_values list = wl_settings_values(set, a);
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < list.n; i++)
        wl_text_addf(&t, "%s%s", t.n ? ", " : "", wl_setting_words(list.v[i].name, list.v[i].value, a));
    return t.s;
}
