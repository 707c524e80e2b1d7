/* Cases of operations on images: odd sizes, strides, padding, channel counts that fill no block. */
#include "cases.h"

static int64_t channels(struct draw *d)
{
    const int64_t v[] = { 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 35, 48 };
    return one_of(d, v, WL_COUNT(v));
}

/* Every third case puts a convolution in front, so that the operation meets a blocked layout. */
static struct wl_tensor *image(struct twin *t, struct draw *d)
{
    t->x = case_input(t, "x", WL_DIMS(1 + below(d, 3), channels(d), 1 + below(d, 11), 1 + below(d, 11)));
    t->front = t->number % 3 == 0;
    if (!t->front) return t->x;
    return wl_conv2d(t->g, "front", t->x, (struct wl_conv) { .channels = 20, .kernel = { 1, 1 } });
}

/* A window no larger than the padded image. */
static void window(struct draw *d, const struct wl_tensor *x, int64_t kernel[2], int64_t stride[2], int64_t pad[2])
{
    for (int i = 0; i < 2; i++) {
        int64_t size = wl_tensor_dims(x)->d[2 + i];
        kernel[i] = 1 + below(d, size + 1 < 7 ? size + 1 : 7);
        pad[i] = kernel[i] > 1 ? below(d, kernel[i] / 2 + 1) : 0;
        if (size + 2 * pad[i] < kernel[i]) kernel[i] = size + 2 * pad[i];
        if (pad[i] >= kernel[i]) pad[i] = kernel[i] - 1;
        stride[i] = 1 + below(d, 3);
    }
}

static void build_conv(struct twin *t, struct draw *d)
{
    struct wl_tensor *x = image(t, d);
    struct wl_conv c = { .channels = channels(d), .bias = below(d, 2) };
    window(d, x, c.kernel, c.stride, c.pad);
    t->y = wl_conv2d(t->g, "op", x, c);
}

static void build_norm(struct twin *t, struct draw *d)
{
    struct wl_tensor *x = image(t, d);
    t->y = wl_batch_norm(t->g, "op", x, (struct wl_batch_norm_opts) { .relu = below(d, 2), .eps = 1e-3 });
}

static void build_relu(struct twin *t, struct draw *d)
{
    struct wl_tensor *x = image(t, d);
    t->y = wl_relu(t->g, "op", x);
}

static void build_add(struct twin *t, struct draw *d)
{
    struct wl_tensor *x = image(t, d);
    struct wl_tensor *y = case_input(t, "y", *wl_tensor_dims(x));
    t->y = below(d, 2) ? wl_add_relu(t->g, "op", x, y) : wl_add(t->g, "op", x, y);
}

/* Inputs of other channel counts, some before and some after x, and x twice at times. */
static void build_concat(struct twin *t, struct draw *d)
{
    struct wl_tensor *x = image(t, d);
    struct wl_tensor *in[WL_MAX_INPUTS];
    int n = 0, most = 1 + (int)below(d, 5);
    for (; n < most; n++) {
        struct wl_dims like = *wl_tensor_dims(x);
        like.d[1] = channels(d);
        in[n] = case_input(t, (const char *[]) { "a", "b", "c", "d", "e" }[n], like);
        if (below(d, 2))
            in[n] = wl_conv2d(t->g, (const char *[]) { "ca", "cb", "cc", "cd", "ce" }[n], in[n],
                              (struct wl_conv) { .channels = channels(d), .kernel = { 1, 1 } });
    }
    in[n++] = x;
    struct wl_tensor *swap = in[n - 1];
    int at = (int)below(d, n);
    in[n - 1] = in[at];
    in[at] = swap;
    if (below(d, 3) == 0) in[n++] = x;
    t->y = wl_concat(t->g, "op", in, n);
}

static struct wl_pool pool(struct draw *d, const struct wl_tensor *x)
{
    struct wl_pool p = { .exclude_pad = below(d, 2) };
    if (below(d, 4)) window(d, x, p.kernel, p.stride, p.pad);
    return p;
}

static void build_max(struct twin *t, struct draw *d)
{
    struct wl_tensor *x = image(t, d);
    t->y = wl_max_pool(t->g, "op", x, pool(d, x));
}

static void build_avg(struct twin *t, struct draw *d)
{
    struct wl_tensor *x = image(t, d);
    t->y = wl_avg_pool(t->g, "op", x, pool(d, x));
}

static void build_dropout(struct twin *t, struct draw *d)
{
    struct wl_tensor *x = image(t, d);
    t->y = wl_dropout(t->g, "op", x, (double)below(d, 10) / 10);
}

static void build_linear(struct twin *t, struct draw *d)
{
    struct wl_tensor *x = image(t, d);
    t->y = wl_linear(t->g, "op", x, channels(d));
}

/* The error of f32 sums of some hundred terms is near 1e-7 relative, 1e-14 as NMSE; batch norm divides a small
 * difference of such sums. In bf16 both round to the nearest of 8 bits, so where a sum lies between two numbers it may
 * fall to either side: 2^-8 relative, 1.5e-5 as NMSE where all elements do. */
static const struct op_case ops[] = {
    { "conv2d", build_conv, 1e-11, 1.5e-5 },
    { "batch_norm", build_norm, 1e-10, 1.5e-5 },
    { "relu", build_relu, 0, 0 },
    { "add", build_add, 1e-13, 0 },
    { "max_pool", build_max, 1e-13, 0 },
    { "avg_pool", build_avg, 1e-11, 1.5e-5 },
    { "linear", build_linear, 1e-11, 1.5e-5 },
    { "dropout", build_dropout, 1e-13, 0 },
    { "concat", build_concat, 1e-11, 1.5e-5 },
};

const struct op_family image_ops = { ops, WL_COUNT(ops), .cases = 30 };
