/* Cases of operations on fields on a grid. */
#include "cases.h"

static int64_t size(struct draw *d)
{
    const int64_t sizes[] = { 1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 25 };
    return sizes[below(d, WL_COUNT(sizes))];
}

/* Block sizes that fill no vector, fill some, and fill them with a rest. */
static int64_t channels(struct draw *d)
{
    const int64_t sizes[] = { 1, 3, 15, 16, 17, 32, 33, 40 };
    return sizes[below(d, WL_COUNT(sizes))];
}

static struct wl_tensor *input(struct twin *t, struct wl_dims dims) { return t->x = case_input(t, "x", dims); }

static void build_patches(struct twin *t, struct draw *d)
{
    int64_t side = 1 + below(d, 4);
    t->y =
        wl_patches(t->g, "op",
                   input(t, WL_DIMS(1 + below(d, 3), channels(d), side * (1 + below(d, 4)), side * (1 + below(d, 4)))),
                   side);
}

static void build_from_patches(struct twin *t, struct draw *d)
{
    int64_t side = 1 + below(d, 4), n = 1 + below(d, 3), down = 1 + below(d, 4), across = 1 + below(d, 4),
            c = channels(d);
    struct wl_tensor *x = input(t, WL_DIMS(n * down * across, side * side * c));
    t->y = wl_from_patches(t->g, "op", x,
                           (struct wl_patch) {
                               .side = side, .channels = c, .height = side * down, .width = side * across });
}

static void build_position(struct twin *t, struct draw *d)
{
    int64_t points = 1 + below(d, 30);
    t->y = wl_position(t->g, "op", input(t, WL_DIMS((1 + below(d, 3)) * points, channels(d))), points);
}

/* Rows that stay f32 between two sums, and come out in the plan's precision. */
static void build_stream(struct twin *t, struct draw *d)
{
    int64_t points = 1 + below(d, 200);
    struct wl_tensor *x = wl_position(t->g, "from", input(t, WL_DIMS((1 + below(d, 3)) * points, channels(d))), points);
    wl_keep_f32(t->g, x);
    struct wl_tensor *y = wl_layer_norm(t->g, "norm", x, NULL, (struct wl_layer_norm) { .eps = 1e-3 });
    x = below(d, 2) ? wl_add(t->g, "sum", x, y) : wl_add(t->g, "sum", y, x);
    wl_keep_f32(t->g, x);
    t->y = wl_add(t->g, "op", wl_layer_norm(t->g, "norm2", x, NULL, (struct wl_layer_norm) { .eps = 1e-3 }), x);
}

static struct wl_fourier fourier(struct draw *d)
{
    struct wl_fourier f = { .height = size(d), .width = size(d), .blocks = 1 + below(d, 3) };
    f.modes = 1 + below(d, f.width / 2 + 1);
    return f;
}

static void build_fft2(struct twin *t, struct draw *d)
{
    struct wl_fourier f = fourier(d);
    t->y = wl_fft2(t->g, "op", input(t, WL_DIMS((1 + below(d, 2)) * f.height * f.width, f.blocks * channels(d))), f);
}

static void build_inverse(struct twin *t, struct draw *d)
{
    struct wl_fourier f = fourier(d);
    t->y = wl_inverse_fft2(t->g, "op",
                           input(t, WL_DIMS((1 + below(d, 2)) * f.height * f.modes, 2 * f.blocks * channels(d))), f);
}

static void build_complex(struct twin *t, struct draw *d)
{
    int64_t blocks = 1 + below(d, 3), rows = below(d, 3) ? 1 + below(d, 20) : 1000 + below(d, 200);
    struct wl_complex c = { .features = blocks * channels(d), .blocks = blocks, .relu = below(d, 2) };
    if (!c.relu) c.shrink = 0.5;
    t->y = wl_complex_linear(t->g, "op", input(t, WL_DIMS(rows, 2 * blocks * channels(d))), c);
}

/* Sums of some hundred terms in f32 are near 1e-7 off. What passes on numbers is exact; in bf16 inputs and results are
 * rounded alike, but those that lie between two numbers may fall to either side. */
static const struct op_case ops[] = {
    { "patches", build_patches, 0, 0 },
    { "from_patches", build_from_patches, 0, 0 },
    { "position", build_position, 1e-13, 1.5e-5 },
    { "fft2", build_fft2, 1e-12, 1e-12 },
    { "inverse_fft2", build_inverse, 1e-12, 1.5e-5 },
    { "complex_linear", build_complex, 1e-12, 1e-12 },
    { "stream", build_stream, 1e-11, 2e-5 },
};

const struct op_family field_ops = { ops, WL_COUNT(ops), .cases = 24, .same_on_one_thread = same_bits };
