/* A JPEG decoder, one per thread; its buffers grow to the largest image and stay. */
#ifndef WL_DATA_IMAGES_JPEG_H
#define WL_DATA_IMAGES_JPEG_H

#include "data/images/source.h"

struct wl_jpeg;

/* RGB, 3 bytes per pixel, rows of 3 * width bytes. */
struct wl_decoded_image {
    const uint8_t *rgb;
    int width, height;
    int scale_denominator; /* 1, 2, 4 or 8: JPEG DCT scaling */
};

int wl_jpeg_new(struct wl_jpeg **j, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Reads the header of a JPEG in memory, which must stay until it is decoded. WL_EINVAL (not a JPEG) names it. */
int wl_jpeg_open(struct wl_jpeg *j, const struct wl_encoded_image *sample, int *width, int *height,
                 struct wl_err *e) WL_MUST_CHECK;

/* Decodes the opened image at 1/scale_denominator of its size. Truncated files are WL_EINVAL. */
int wl_jpeg_decode(struct wl_jpeg *j, int scale_denominator, struct wl_decoded_image *out,
                   struct wl_err *e) WL_MUST_CHECK;

#endif
