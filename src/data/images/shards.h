/* Images in TFRecord shards. */
#ifndef WL_DATA_IMAGES_SHARDS_H
#define WL_DATA_IMAGES_SHARDS_H

#include "data/images/source.h"

/* Does the folder hold files named PREFIX-00000-of-00001 and the like? */
bool wl_image_shards_exist(const char *dir, const char *prefix, struct wl_arena *a);

/* Lists the shards DIR/PREFIX-*, and all their records. */
int wl_image_shards_open(struct wl_image_source *s, const char *dir, const char *prefix, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

#endif
