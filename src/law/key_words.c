#include "law/partition.h"

#include "settings/settings.h"

char *wl_law_key_words(const struct wl_law_key *key, size_t n, struct wl_arena *a)
{
    struct wl_text words = WL_TEXT(a);
    for (size_t i = 0; i < n; i++)
        wl_text_addf(&words, "%s%s", words.n ? ", " : "", wl_setting_words(key[i].column, key[i].value, a));
    return words.n ? words.s : wl_strdup(a, "all runs");
}
