/* A file that remembers the update periods of GPU sensors. docs/formats.md has its format. */
#ifndef WL_POWER_NVML_UPDATE_CACHE_H
#define WL_POWER_NVML_UPDATE_CACHE_H

#include "base/base.h"

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

/* updates.ini in wattlaw's state folder. */
char *wl_update_cache_path(struct wl_arena *a);

/* A missing file is empty. Errors name file, line and value. */
int wl_update_cache_read(const char *path, struct wl_update_cache *out, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* The entry of the device with this product and driver; NULL: none. */
const struct wl_update_period *wl_update_cache_find(const struct wl_update_cache *all,
                                                    const struct wl_update_period *of);

/* Rewrites the file with these entries instead of older ones of the same devices; an entry without periods (NAN)
 * removes the device. A file that cannot be read is replaced: its entries are only a cache. */
int wl_update_cache_merge(const char *path, const struct wl_update_cache *fresh, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

#endif
