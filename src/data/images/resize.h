#ifndef WL_DATA_IMAGES_RESIZE_H
#define WL_DATA_IMAGES_RESIZE_H

#include "data/images/crop.h"
#include "data/images/jpeg.h"

struct wl_resize; /* weights and rows of one thread */

struct wl_resize *wl_resize_new(int image_size, struct wl_arena *a);

/* Crops, resizes (bilinear, with the triangle filter widened when shrinking, as in Pillow) and flips.
 *   out [3,S,S] planes of R, G, B */
int wl_resize(struct wl_resize *r, const struct wl_decoded_image *from, const struct wl_crop *crop, uint8_t *out,
              struct wl_err *e) WL_MUST_CHECK;

#endif
