#include "data/images/crop.h"

#include <math.h>

/* The largest centre crop whose aspect ratio lies between 3/4 and 4/3. */
static struct wl_crop fallback(int width, int height)
{
    double w = width, h = height;
    if (w < h * 3 / 4)
        h = round(w * 4 / 3);
    else if (w > h * 4 / 3)
        w = round(h * 4 / 3);
    return (struct wl_crop) { .x = floor((width - w) / 2), .y = floor((height - h) / 2), .width = w, .height = h };
}

struct wl_crop wl_crop_random(int width, int height, struct wl_rng *d)
{
    double area = (double)width * height;
    struct wl_crop crop = fallback(width, height);
    for (int attempt = 0; attempt < 10; attempt++) {
        double target = area * wl_rng_uniform(d, 0.08, 1), ratio = exp(wl_rng_uniform(d, log(3. / 4), log(4. / 3)));
        double w = round(sqrt(target * ratio)), h = round(sqrt(target / ratio));
        if (w < 1 || h < 1 || w > width || h > height) continue;
        crop.x = (double)wl_rng_below(d, (uint64_t)(width - w) + 1);
        crop.y = (double)wl_rng_below(d, (uint64_t)(height - h) + 1);
        crop.width = w;
        crop.height = h;
        break;
    }
    crop.flip = wl_rng_below(d, 2);
    return crop;
}

struct wl_crop wl_crop_centre(int width, int height)
{
    double side = (width < height ? width : height) * 224. / 256;
    return (struct wl_crop) { .x = (width - side) / 2, .y = (height - side) / 2, .width = side, .height = side };
}

int wl_crop_scale_denominator(const struct wl_crop *crop, int image_size)
{
    double side = crop->width < crop->height ? crop->width : crop->height;
    int scale_denominator = 8;
    while (scale_denominator > 1 && side / scale_denominator < image_size) scale_denominator /= 2;
    return scale_denominator;
}
