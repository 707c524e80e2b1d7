/* Any bytes as an image of a data set: decoded, cropped and resized at every reduction, or refused with a message. */
#include "fuzz.h"

#include "data/images/resize.h"

enum { SIZE = 16, MAX_SIDE = 2048 /* larger pictures only cost time here */ };

static void decode(struct wl_jpeg *j, int width, int height, struct wl_arena *a)
{
    struct wl_resize *r = wl_resize_new(SIZE, a);
    uint8_t out[3 * SIZE * SIZE];
    struct wl_err e = { 0 };
    for (int reduce = 1; reduce <= 8; reduce *= 2) {
        struct wl_rng d = wl_rng(1, "fuzz", 0, (uint64_t)reduce);
        struct wl_crop crop = wl_crop_random(width, height, &d);
        struct wl_decoded_image pixels;
        int rc = wl_jpeg_decode(j, reduce, &pixels, &e);
        if (rc == 0) rc = wl_resize(r, &pixels, &crop, out, &e);
        WL_CHECK(rc == 0 || (rc == WL_EINVAL && e.msg[0]));
        if (rc != 0) break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_jpeg *j;
    struct wl_err e = { 0 };
    struct wl_encoded_image *sample = wl_new(a, struct wl_encoded_image);
    int width, height;
    *sample = (struct wl_encoded_image) { .jpeg = data, .jpeg_n = n, .name = "fuzz" };
    WL_CHECK(wl_jpeg_new(&j, a, &e) == 0);
    int rc = wl_jpeg_open(j, sample, &width, &height, &e);
    WL_CHECK(rc == 0 || (rc == WL_EINVAL && e.msg[0]));
    if (rc == 0 && width <= MAX_SIDE && height <= MAX_SIDE) decode(j, width, height, a);
    wl_arena_free(a);
    return 0;
}
