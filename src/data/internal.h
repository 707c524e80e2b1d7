/* Parts of the image loader and of the synthetic generator. */
#ifndef WL_DATA_INTERNAL_H
#define WL_DATA_INTERNAL_H

#include "data/data.h"

/* ---- a sequence of random numbers: element after element of one stream of base/random.h ---- */

struct wl_draws {
    uint64_t key, stream, i;
};

/* Keyed by the user's seed, what the numbers are for, and two positions; `a` below 2^24, `b` below 2^40. */
struct wl_draws wl_draws(uint64_t seed, const char *purpose, uint64_t a, uint64_t b);
double wl_draw(struct wl_draws *d, double low, double high); /* uniform in [low, high) */
uint64_t wl_draw_below(struct wl_draws *d, uint64_t n);
double wl_draw_normal(struct wl_draws *d);

/* ---- order.c: which samples a rank sees in which call ---- */

struct wl_shares {
    int64_t samples, batch, ranks, rank;
    bool drop_last;
};

int64_t wl_shares_steps(const struct wl_shares *s);

/* The places [*from, *from + n) of the epoch's order that this rank takes in call `step`; returns n. */
int64_t wl_shares_at(const struct wl_shares *s, int64_t step, int64_t *from);

/* Fills order[0..n) with the permutation of an epoch. */
void wl_order_shuffle(uint32_t *order, int64_t n, uint64_t seed, int64_t epoch);

/* ---- files.c: the folder layout ---- */

struct wl_image {
    uint64_t name;       /* offset into wl_images.names: "<class>/<file>" */
    int32_t class_index; /* place among the sorted folders of train/ */
};

struct wl_images {
    const char *dir; /* DIR/train or DIR/val */
    struct wl_strs classes;
    struct wl_image *v; /* sorted by class, then by name */
    int64_t n;
    const char *names;
};

/* Lists one part ("train" or "val") of a data set. */
int wl_images_list(struct wl_images *out, const char *dir, const char *part, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

/* Keeps `samples` of them, evenly spaced, so that every class keeps its share. */
int wl_images_limit(struct wl_images *images, int64_t samples, struct wl_err *e) WL_MUST_CHECK;

/* "DIR/train/<class>/<file>" into buf. */
int wl_images_path(const struct wl_images *images, int64_t i, char *buf, size_t size, struct wl_err *e) WL_MUST_CHECK;

/* ---- jpeg.c: one decoder for each thread; its buffers grow to the largest image and stay ---- */

struct wl_jpeg;

/* RGB, 3 bytes a pixel, rows of 3 * width bytes. */
struct wl_pixels {
    const uint8_t *rgb;
    int width, height;
    int reduced; /* 1, 2, 4 or 8: one pixel stands for so many of the file's */
};

int wl_jpeg_new(struct wl_jpeg **j, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Reads a file and its header. WL_EIO, WL_ENOENT, WL_EINVAL (no JPEG) name the path. */
int wl_jpeg_open(struct wl_jpeg *j, const char *path, int *width, int *height, struct wl_err *e) WL_MUST_CHECK;

/* Decodes what was opened, reduced by `reduce` (1, 2, 4, 8). Cut-off files are WL_EINVAL. */
int wl_jpeg_decode(struct wl_jpeg *j, int reduce, struct wl_pixels *out, struct wl_err *e) WL_MUST_CHECK;

/* ---- crop.c: the part of an image that is used, in pixels of the file ---- */

struct wl_crop {
    double x, y, width, height;
    bool flip; /* left to right */
};

/* torchvision's RandomResizedCrop (area .08 to 1, aspect 3/4 to 4/3, ten attempts, then the centre) and a flip with
 * probability 1/2. */
struct wl_crop wl_crop_random(int width, int height, struct wl_draws *d);

/* Short side to S * 256/224, then the centre S x S: that is the centre square with 224/256 of the short side. */
struct wl_crop wl_crop_centre(int width, int height);

/* The largest reduction (1, 2, 4, 8) at which the crop still has S pixels a side. */
int wl_crop_reduction(const struct wl_crop *crop, int image_size);

/* ---- resize.c ---- */

struct wl_resize; /* weights and rows of one thread */

struct wl_resize *wl_resize_new(int image_size, struct wl_arena *a);

/* Crop, resize (bilinear, with the triangle filter widened when shrinking, as Pillow does), flip.
 *   out [3,S,S] planes of R, G, B */
int wl_resize(struct wl_resize *r, const struct wl_pixels *from, const struct wl_crop *crop, uint8_t *out,
              struct wl_err *e) WL_MUST_CHECK;

/* ---- draw.c: one synthetic image ---- */

/* Image i of a part (0: train, 1: val), of class i % classes.   rgb [size,size,3] */
void wl_draw_image(uint8_t *rgb, int size, int64_t classes, uint64_t seed, int part, int64_t i);

#endif
