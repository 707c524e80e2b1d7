#include "law/partition.h"

#include "settings/settings.h"

#include <string.h>

static char *spaced(const char *column, struct wl_arena *a)
{
    char *words = wl_strdup(a, column);
    for (char *p = words; *p; p++) {
        if (*p == '_') *p = ' ';
    }
    return words;
}

/* A setting of a campaign may have any name: one with a blank is quoted, so that it does not read like one of ours. */
static char *column_words(const char *column, struct wl_arena *a)
{
    return strchr(column, ' ') ? wl_strf(a, "\"%s\"", column) : spaced(column, a);
}

/* "local batch 16", "cap 250 W", "resnet50": a part of a group's key in words. */
static char *key_words(const struct wl_law_key *key, struct wl_arena *a)
{
    const struct wl_setting *r = wl_setting_find(key->column);
    if (r && r->missing)
        return *key->value ? wl_strf(a, "%s%s%s", r->before ? r->before : "", key->value, r->after ? r->after : "")
                           : wl_strdup(a, r->missing);
    char *column = column_words(key->column, a);
    return *key->value ? wl_strf(a, "%s %s", column, key->value) : wl_strf(a, "no %s", column);
}

char *wl_law_key_words(const struct wl_law_key *key, size_t n, struct wl_arena *a)
{
    struct wl_text words = WL_TEXT(a);
    for (size_t i = 0; i < n; i++) wl_text_addf(&words, "%s%s", words.n ? ", " : "", key_words(&key[i], a));
    return words.n ? words.s : wl_strdup(a, "all runs");
}
