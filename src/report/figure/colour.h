/* Colours after Okabe and Ito 2008, safe for colour-blind readers. */
#ifndef WL_REPORT_FIGURE_COLOUR_H
#define WL_REPORT_FIGURE_COLOUR_H

#include "base/base.h"

struct wl_colour {
    const char *name, *light, *dark; /* "#rrggbb" on a light and on a dark ground */
};
const struct wl_colour *wl_colour(int slot); /* slots beyond the palette begin again; negative: neutral */
enum { WL_COLOURS = 7, WL_MARKERS = 7 };

/* The slot of each of n names: a reference workload has the same one in every report, others take the free slots
 * in the order of the list. */
void wl_colour_slots(const char *const *names, size_t n, int *slots);

#endif
