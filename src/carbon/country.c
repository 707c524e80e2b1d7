/* The built-in table of carbon intensities by country. */
#include "carbon/carbon.h"

#include <string.h>
#include <strings.h>

static const struct wl_country countries[] = {
#include "carbon/country_table.inc"
};

const struct wl_country *wl_country_table(size_t *n)
{
    *n = WL_COUNT(countries);
    return countries;
}

const struct wl_country *wl_country_find(const char *word)
{
    if (strcasecmp(word, "UK") == 0) word = "GB"; /* reserved in ISO 3166 */
    for (const struct wl_country *c = countries; c < countries + WL_COUNT(countries); c++)
        if (!strcasecmp(word, c->alpha2) || !strcasecmp(word, c->alpha3) || !strcasecmp(word, c->name)) return c;
    return NULL;
}

/* Compares names only: nearly every code is one typo away from several others. The edit distance is case-sensitive, and
 * words of names are capitalised. */
const struct wl_country *wl_country_closest(const char *word, struct wl_arena *a)
{
    const char *names[WL_COUNT(countries)];
    char *capital = wl_strdup(a, word);
    for (char *at = capital; *at; at++) {
        bool first = at == capital || at[-1] == ' ';
        if (first && *at >= 'a' && *at <= 'z') *at -= 'a' - 'A';
        if (!first && *at >= 'A' && *at <= 'Z') *at += 'a' - 'A';
    }
    for (size_t i = 0; i < WL_COUNT(countries); i++) names[i] = countries[i].name;
    const char *meant = strlen(word) > 2 ? wl_str_closest(capital, names, WL_COUNT(names)) : NULL;
    return meant ? wl_country_find(meant) : NULL;
}
