/* Rows numbered by their values. */
#ifndef WL_LAW_LABELS_H
#define WL_LAW_LABELS_H

#include "base/base.h"

/* Numbers equal texts alike: ids 0.. in order of first appearance; returns how many there are. */
size_t wl_law_labels(const char *const *texts, size_t n, size_t *ids, struct wl_arena *a);

/* The same of the pairs (group, text), where group is one of the numbers in `of`. */
size_t wl_law_labels_within(const size_t *of, const char *const *texts, size_t n, size_t *ids, struct wl_arena *a);

/* Numbers as texts, [n] in a, each distinct one written once in texts_in; "" where one is missing (NAN). */
const char **wl_law_labels_of_numbers(const double *v, size_t n, int digits, struct wl_arena *texts_in,
                                      struct wl_arena *a);

#endif
