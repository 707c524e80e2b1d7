/* A rotating shallow-water model on a sphere: one layer on height x width cells. */
#ifndef WL_DATA_ERA5_SHALLOW_WATER_H
#define WL_DATA_ERA5_SHALLOW_WATER_H

#include "base/base.h"

struct wl_shallow_water;
enum { WL_SHALLOW_WATER_FIELDS = 5 };
extern const char *const wl_shallow_water_names[WL_SHALLOW_WATER_FIELDS]; /* u, v, height, vorticity, tracer */
struct wl_shallow_water *wl_shallow_water_new(int64_t height, int64_t width, uint64_t seed, uint64_t layer,
                                              struct wl_arena *a);
void wl_shallow_water_advance(struct wl_shallow_water *w, double seconds);
void wl_shallow_water_read(const struct wl_shallow_water *w, int field, float *to); /* [height,width] */

#endif
