/* Update periods of GPUs' sensors that were found once and are remembered. docs/formats.md has the file. */
#ifndef WL_POWER_NVML_UPDATE_CACHE_H
#define WL_POWER_NVML_UPDATE_CACHE_H

#include "power/internal.h"

/* Of one device under one driver. */
struct wl_update_period {
    const char *uuid, *name, *driver;
    const char *date;         /* when it was found, UTC */
    double power_s, energy_s; /* both above 0 */
    bool simulated;           /* of a simulated GPU */
};
struct wl_update_cache {
    struct wl_update_period *v;
    size_t n, cap;
};

/* updates.ini in the folder of wattlaw's state. */
char *wl_update_cache_path(struct wl_arena *a);

/* No file: none. Errors name file, line and value. */
int wl_update_cache_read(const char *path, struct wl_update_cache *out, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* The entry of the device, if it is of this product and driver; NULL: there is none. */
const struct wl_update_period *wl_update_cache_find(const struct wl_update_cache *all,
                                                    const struct wl_update_period *of);

/* Writes the file anew with these in place of what it had of their devices; a device without periods (NAN) is left out.
 * What cannot be read in the file is lost: it is only found again. */
int wl_update_cache_merge(const char *path, const struct wl_update_cache *fresh, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

#endif
