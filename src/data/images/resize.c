/* Separable resampling: for each output row the rows of the crop are summed with their weights (long, contiguous
 * loops), then the columns of that sum. Weights as in Pillow, so that images match those of torchvision. */
#include "data/images/resize.h"

#include <math.h>
#include <stdlib.h>

/* The input pixels of each of S outputs along one axis. */
struct axis {
    int *first, *count; /* [S] */
    float *weight;      /* [S, taps] */
    size_t taps, cap;
    int low, high; /* range of all pixels used: [low, high) */
};

struct wl_resize {
    int size; /* S */
    struct axis across, down;
    float *row; /* [3 * width of the crop] */
    size_t row_cap;
};

static void resize_release(void *what)
{
    struct wl_resize *r = what;
    free(r->across.weight);
    free(r->down.weight);
    free(r->row);
}

struct wl_resize *wl_resize_new(int image_size, struct wl_arena *a)
{
    struct wl_resize *r = wl_new(a, struct wl_resize);
    r->size = image_size;
    r->across.first = wl_new_array(a, int, (size_t)image_size);
    r->across.count = wl_new_array(a, int, (size_t)image_size);
    r->down.first = wl_new_array(a, int, (size_t)image_size);
    r->down.count = wl_new_array(a, int, (size_t)image_size);
    wl_defer(a, resize_release, r);
    return r;
}

/* Makes room for 2n floats if n do not fit, so that growth soon ends; the contents are lost. */
static int reserve(float **p, size_t *cap, size_t n, struct wl_err *e)
{
    if (n <= *cap) return 0;
    free(*p);
    *cap = 0;
    *p = malloc(2 * n * sizeof **p);
    if (!*p) return wl_fail(e, WL_ENOMEM, "no memory to resize an image");
    *cap = 2 * n;
    return 0;
}

/* Output i lies at from + (i + 1/2) * scale; a pixel's weight falls linearly to 0 at `reach` from there. */
static int axis_set(struct axis *ax, double from, double length, int pixels, int size, struct wl_err *e)
{
    double scale = length / size, reach = scale > 1 ? scale : 1;
    int low = (int)floor(from), high = (int)ceil(from + length);
    ax->low = low < 0 ? 0 : low;
    ax->high = high > pixels ? pixels : high;
    if (ax->low > ax->high - 1) ax->low = ax->high - 1;
    ax->taps = (size_t)(2 * reach) + 3;
    int rc = reserve(&ax->weight, &ax->cap, ax->taps * (size_t)size, e);
    if (rc != 0) return rc;
    for (int i = 0; i < size; i++) {
        double centre = from + (i + 0.5) * scale, sum = 0;
        float *w = ax->weight + (size_t)i * ax->taps;
        int first = (int)floor(centre - reach + 0.5), end = (int)floor(centre + reach + 0.5), n = 0;
        if (first < ax->low) first = ax->low;
        if (first > ax->high - 1) first = ax->high - 1;
        if (end > ax->high) end = ax->high;
        if (end < first + 1) end = first + 1;
        for (int x = first; x < end; x++) {
            double distance = fabs(x + 0.5 - centre) / reach;
            w[n] = (float)(distance < 1 ? 1 - distance : 0);
            sum += w[n++];
        }
        if (sum <= 0) w[0] = 1, sum = 1;
        for (int k = 0; k < n; k++) w[k] /= (float)sum;
        ax->first[i] = first;
        ax->count[i] = n;
    }
    return 0;
}

/* row[x] = sum over the rows of output j */
static void sum_rows(const struct wl_resize *r, const struct wl_decoded_image *from, int j)
{
    const struct axis *down = &r->down;
    size_t n = 3 * (size_t)(r->across.high - r->across.low);
    const float *weight = down->weight + (size_t)j * down->taps;
    float *row = r->row;
    for (int k = 0; k < down->count[j]; k++) {
        const uint8_t *p = from->rgb + 3 * ((size_t)(down->first[j] + k) * (size_t)from->width + (size_t)r->across.low);
        float w = weight[k];
        if (k == 0)
            for (size_t x = 0; x < n; x++) row[x] = w * (float)p[x];
        else
            for (size_t x = 0; x < n; x++) row[x] += w * (float)p[x];
    }
}

/* The columns of the summed row: output row j of the three planes. */
static void sum_columns(const struct wl_resize *r, bool flip, int j, uint8_t *out)
{
    const struct axis *across = &r->across;
    size_t plane = (size_t)r->size * (size_t)r->size;
    uint8_t *to = out + (size_t)j * (size_t)r->size;
    for (int i = 0; i < r->size; i++) {
        const float *weight = across->weight + (size_t)i * across->taps;
        const float *p = r->row + 3 * (size_t)(across->first[i] - across->low);
        float rgb[3] = { 0.5f, 0.5f, 0.5f }; /* rounds to nearest */
        for (int k = 0; k < across->count[i]; k++)
            for (int c = 0; c < 3; c++) rgb[c] += weight[k] * p[3 * k + c];
        size_t at = (size_t)(flip ? r->size - 1 - i : i);
        for (size_t c = 0; c < 3; c++) to[c * plane + at] = (uint8_t)(rgb[c] < 255 ? rgb[c] : 255);
    }
}

int wl_resize(struct wl_resize *r, const struct wl_decoded_image *from, const struct wl_crop *crop, uint8_t *out,
              struct wl_err *e)
{
    double s = 1. / from->scale_denominator;
    int rc = axis_set(&r->across, crop->x * s, crop->width * s, from->width, r->size, e);
    if (rc == 0) rc = axis_set(&r->down, crop->y * s, crop->height * s, from->height, r->size, e);
    if (rc == 0) rc = reserve(&r->row, &r->row_cap, 3 * (size_t)(r->across.high - r->across.low), e);
    if (rc != 0) return rc;
    for (int j = 0; j < r->size; j++) {
        sum_rows(r, from, j);
        sum_columns(r, crop->flip, j, out);
    }
    return 0;
}
