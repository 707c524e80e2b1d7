/* wattlaw fit as text. */
#ifndef WL_CMD_WATTLAW_FIT_INTERNAL_H
#define WL_CMD_WATTLAW_FIT_INTERNAL_H

#include "cmd/wattlaw/busy.h"
#include "cmd/wattlaw/curves.h"
#include "cmd/wattlaw/repeats.h"
#include "law/law.h"

enum wl_provenance wl_fit_provenance(const struct wl_law_group *g); /* of the energies */
enum wl_style wl_fit_style(enum wl_law_verdict v);

/* law.c: of a group that has a law. */
void wl_fit_print_law(const struct wl_law_group *g, enum wl_law_response response, struct wl_arena *a);
void wl_fit_print_quality(const struct wl_law_result *r, const struct wl_law_group *g, struct wl_arena *a);

/* tables.c; all: with every column and row. */
void wl_fit_print_worker_counts(const struct wl_law_group *g, const struct wl_law_curves *curves,
                                enum wl_law_response response, bool all, struct wl_arena *a);
void wl_fit_print_models(const struct wl_law_group *g, const struct wl_law_curves *curves, bool all,
                         struct wl_arena *a);

/* print.c: curves [r->n]. */
void wl_fit_print(const struct wl_law_result *r, const struct wl_law_curves *curves, const struct wl_busy_runs *busy,
                  const struct wl_unlike_repeats *unlike, bool all, struct wl_arena *a);

#endif
