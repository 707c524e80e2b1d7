/* Analysis of covariance over the levels of a factor. */
#ifndef WL_LAW_FACTOR_ANCOVA_H
#define WL_LAW_FACTOR_ANCOVA_H

#include "law/factor/factor.h"

/* All NAN, no pairs. */
struct wl_factor_tests wl_factor_no_tests(const char *basis, const struct wl_factor_group *g, struct wl_arena *a);

/* The tests over runs (config false) or over the means of worker counts. */
void wl_factor_ancova(struct wl_factor_tests *out, const struct wl_factor_group *g, bool config, double margin,
                      struct wl_arena *a);

/* p of the pairs over all of them (Holm) and over all levels (Tukey). */
void wl_factor_adjust_pairs(struct wl_factor_tests *t, size_t levels, struct wl_arena *a);

#endif
