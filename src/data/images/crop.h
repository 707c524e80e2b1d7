/* The part of an image that is used, in pixels of the file. */
#ifndef WL_DATA_IMAGES_CROP_H
#define WL_DATA_IMAGES_CROP_H

#include "data/rng.h"

struct wl_crop {
    double x, y, width, height;
    bool flip; /* horizontally */
};

/* torchvision's RandomResizedCrop (area .08 to 1, aspect 3/4 to 4/3, ten attempts, then the centre), and a horizontal
 * flip with probability 1/2. */
struct wl_crop wl_crop_random(int width, int height, struct wl_rng *d);

/* Shorter side to S * 256/224, then the centre S x S: the centre square with 224/256 of the shorter side. */
struct wl_crop wl_crop_centre(int width, int height);

/* The largest scale denominator (1, 2, 4, 8) at which the crop still has S pixels per side. */
int wl_crop_scale_denominator(const struct wl_crop *crop, int image_size);

#endif
