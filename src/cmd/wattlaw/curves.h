/* Text about the curves of a group with their posterior weights, for `fit` and `energy`. */
#ifndef WL_CMD_WATTLAW_CURVES_H
#define WL_CMD_WATTLAW_CURVES_H

#include "law/law.h"

/* The best curve with the weights of all, the exponents at both ends, and the scatter: lines of a group. Nothing where
 * it is refused. symbol: of the response, "t". */
void wl_curves_print(const struct wl_law_curves *c, const char *symbol, struct wl_arena *a);

/* The Universal Scalability Law of the throughput, for comparison; nothing where it was not fitted. */
void wl_curves_print_usl(const struct wl_law_curves *c);

/* The response at each measured worker count with the intervals of new configurations and new runs. */
void wl_curves_print_table(const struct wl_law_curves *c, enum wl_law_response response, enum wl_provenance from,
                           struct wl_arena *a);

#endif
