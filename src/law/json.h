/* JSON of what all results share. */
#ifndef WL_LAW_JSON_H
#define WL_LAW_JSON_H

#include "law/partition.h"

/* A pair [lo, hi] in JSON; a value and that pair under keys of their own. */
void wl_law_json_interval(struct wl_json *parent, const char *key, double lo, double hi);
void wl_law_json_estimate(struct wl_json *parent, const char *key, const char *interval, const struct wl_estimate *v);

/* The members "key" and "notes" of a group. */
void wl_law_json_key(struct wl_json *group, const struct wl_law_key *key, size_t n);
void wl_law_json_notes(struct wl_json *group, const struct wl_strs *notes);

#endif
