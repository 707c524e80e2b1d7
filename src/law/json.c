#include "law/json.h"

void wl_law_json_interval(struct wl_json *parent, const char *key, double lo, double hi)
{
    struct wl_json *pair = wl_json_add_array(parent, key);
    wl_json_add_real(pair, NULL, lo);
    wl_json_add_real(pair, NULL, hi);
}

void wl_law_json_key(struct wl_json *group, const struct wl_law_key *key, size_t n)
{
    struct wl_json *o = wl_json_add_object(group, "key");
    for (size_t i = 0; i < n; i++) wl_json_add_str(o, key[i].column, *key[i].value ? key[i].value : NULL);
}

void wl_law_json_notes(struct wl_json *group, const struct wl_strs *notes)
{
    struct wl_json *array = wl_json_add_array(group, "notes");
    for (size_t i = 0; i < notes->n; i++) wl_json_add_str(array, NULL, notes->v[i]);
}

void wl_law_json_estimate(struct wl_json *parent, const char *key, const char *interval, const struct wl_estimate *v)
{
    wl_json_add_real(parent, key, v->value);
    wl_law_json_interval(parent, interval, v->lo, v->hi);
}
