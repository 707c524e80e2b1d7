/* Colours after Okabe and Ito 2008, safe for colour-blind readers. */
#ifndef WL_REPORT_FIGURE_COLOUR_H
#define WL_REPORT_FIGURE_COLOUR_H

#include "base/base.h"

struct wl_colour {
    const char *name, *light, *dark; /* "#rrggbb" on a light and on a dark ground */
};
const struct wl_colour *wl_colour(int slot); /* slots beyond the palette begin again; negative: neutral */
/* Of the first WL_COLOURS people tell any two apart; WL_PALETTE is how many differ at all. */
enum { WL_COLOURS = 7, WL_PALETTE = 21, WL_MARKERS = 7, WL_DASHES = 6 };

/* Lines and points of a group: no two groups of a figure have the same three. */
struct wl_look {
    int colour, dash, marker;
};
struct wl_look wl_look(int slot); /* of group `slot` of a figure; up to WL_PALETTE x WL_DASHES */

/* The slot of each of n names: a reference workload has the same one in every report, others take the free slots
 * in the order of the list. */
void wl_colour_slots(const char *const *names, size_t n, int *slots);

#endif
