/* Inception v3. Source: Szegedy et al. 2015, arXiv:1512.00567, table 1 and figures 5 to 8, as in torchvision:
 * names, order and initialisation of the parameters are the same, 27,161,264 numbers at full size with the auxiliary
 * head. The loss of that head counts 0.4 in training; evaluation omits it. Images are not transformed
 * (transform_input).
 */
#include "models/image_models.h"

enum { A_BLOCKS = 3, C_BLOCKS = 4 };

struct shape {
    int64_t divide;           /* of all channels */
    int a, c, e;              /* blocks of each kind */
    int64_t min_image;        /* pixels, so that the auxiliary head's windows fit */
    int64_t aux_window;       /* of its mean pooling */
    int64_t aux_stride;       /* ... */
    int64_t aux_kernel;       /* of its convolution after that */
    int64_t pooled[A_BLOCKS]; /* channels of the pooling branch of the blocks A */
    int64_t seven[C_BLOCKS];  /* channels within the 7x7 branches of the blocks C */
};
static const struct shape full = {
    .divide = 1,
    .a = A_BLOCKS,
    .c = C_BLOCKS,
    .e = 2,
    .min_image = 299,
    .aux_window = 5,
    .aux_stride = 3,
    .aux_kernel = 5,
    .pooled = { 32, 64, 64 },
    .seven = { 128, 160, 160, 192 },
};
static const struct shape tiny = {
    .divide = 8,
    .a = 1,
    .c = 1,
    .e = 1,
    .min_image = 91,
    .aux_window = 2,
    .aux_stride = 1,
    .aux_kernel = 3,
    .pooled = { 64 },
    .seven = { 128 },
};

/* A graph under construction. */
struct net {
    struct wl_graph *g;
    const struct shape *s;
};

/* torchvision: N(0, 0.1) truncated at +-2, which is twenty deviations away, for all convolutions and linear layers
 * except the auxiliary one. (Its aux.conv1.stddev = 0.01 is set on the block, which its initialisation does not read.)
 */
static const struct wl_init start = { WL_INIT_NORMAL, 0.1 }, aux_start = { WL_INIT_NORMAL, 0.001 };

/* Channels of a layer that has c of them at full size: otherwise a multiple of 16, for which kernels are fast. */
static int64_t width(const struct shape *s, int64_t c)
{
    enum { BLOCK = 16 };
    return s->divide == 1 ? c : (c / s->divide + BLOCK - 1) / BLOCK * BLOCK;
}

/* Convolution, batch norm, relu. */
static struct wl_tensor *unit(struct net n, const char *name, struct wl_tensor *x, struct wl_conv c)
{
    c.channels = width(n.s, c.channels);
    wl_scope_push(n.g, "%s", name);
    x = wl_conv2d(n.g, "conv", x, c);
    wl_init_weight(n.g, x, start);
    x = wl_batch_norm(n.g, "bn", x, (struct wl_batch_norm_opts) { .relu = true, .eps = 1e-3 });
    wl_scope_pop(n.g);
    return x;
}

/* Convolutions with padding, which keep the size of the map, and without. */
static struct wl_tensor *same(struct net n, const char *name, struct wl_tensor *x, int64_t channels, int64_t h,
                              int64_t w)
{
    return unit(n, name, x, (struct wl_conv) { .channels = channels, .kernel = { h, w }, .pad = { h / 2, w / 2 } });
}

static struct wl_tensor *inside(struct net n, const char *name, struct wl_tensor *x, int64_t channels, int64_t k,
                                int64_t stride)
{
    return unit(n, name, x,
                (struct wl_conv) { .channels = channels, .kernel = { k, k }, .stride = { stride, stride } });
}

static struct wl_tensor *half(struct net n, const char *name, struct wl_tensor *x)
{
    return wl_max_pool(n.g, name, x, (struct wl_pool) { .kernel = { 3, 3 }, .stride = { 2, 2 } });
}

/* The mean of 3x3, then 1x1. */
static struct wl_tensor *pooled(struct net n, struct wl_tensor *x, int64_t channels)
{
    x = wl_avg_pool(n.g, "pool", x, (struct wl_pool) { .kernel = { 3, 3 }, .pad = { 1, 1 } });
    return same(n, "branch_pool", x, channels, 1, 1);
}

#define CONCAT(n, ...)                                                      \
    wl_concat((n).g, "concat", (struct wl_tensor *const[]) { __VA_ARGS__ }, \
              (int)(sizeof((struct wl_tensor *const[]) { __VA_ARGS__ }) / sizeof(void *)))

/* x [N,C,H,W] -> [N, 224 + pool, H, W] */
static struct wl_tensor *block_a(struct net n, struct wl_tensor *x, int64_t pool)
{
    struct wl_tensor *one = same(n, "branch1x1", x, 64, 1, 1);
    struct wl_tensor *five = same(n, "branch5x5_1", x, 48, 1, 1);
    five = same(n, "branch5x5_2", five, 64, 5, 5);
    struct wl_tensor *three = same(n, "branch3x3dbl_1", x, 64, 1, 1);
    three = same(n, "branch3x3dbl_2", three, 96, 3, 3);
    three = same(n, "branch3x3dbl_3", three, 96, 3, 3);
    return CONCAT(n, one, five, three, pooled(n, x, pool));
}

/* -> [N, C + 480, (H - 1)/2, (W - 1)/2] */
static struct wl_tensor *block_b(struct net n, struct wl_tensor *x)
{
    struct wl_tensor *three = inside(n, "branch3x3", x, 384, 3, 2);
    struct wl_tensor *twice = same(n, "branch3x3dbl_1", x, 64, 1, 1);
    twice = same(n, "branch3x3dbl_2", twice, 96, 3, 3);
    twice = inside(n, "branch3x3dbl_3", twice, 96, 3, 2);
    return CONCAT(n, three, twice, half(n, "pool", x));
}

/* -> [N, 768, H, W], 7x7 as 1x7 and 7x1 */
static struct wl_tensor *block_c(struct net n, struct wl_tensor *x, int64_t c)
{
    struct wl_tensor *one = same(n, "branch1x1", x, 192, 1, 1);
    struct wl_tensor *seven = same(n, "branch7x7_1", x, c, 1, 1);
    seven = same(n, "branch7x7_2", seven, c, 1, 7);
    seven = same(n, "branch7x7_3", seven, 192, 7, 1);
    struct wl_tensor *twice = same(n, "branch7x7dbl_1", x, c, 1, 1);
    twice = same(n, "branch7x7dbl_2", twice, c, 7, 1);
    twice = same(n, "branch7x7dbl_3", twice, c, 1, 7);
    twice = same(n, "branch7x7dbl_4", twice, c, 7, 1);
    twice = same(n, "branch7x7dbl_5", twice, 192, 1, 7);
    return CONCAT(n, one, seven, twice, pooled(n, x, 192));
}

/* -> [N, C + 512, (H - 1)/2, (W - 1)/2] */
static struct wl_tensor *block_d(struct net n, struct wl_tensor *x)
{
    struct wl_tensor *three = same(n, "branch3x3_1", x, 192, 1, 1);
    three = inside(n, "branch3x3_2", three, 320, 3, 2);
    struct wl_tensor *seven = same(n, "branch7x7x3_1", x, 192, 1, 1);
    seven = same(n, "branch7x7x3_2", seven, 192, 1, 7);
    seven = same(n, "branch7x7x3_3", seven, 192, 7, 1);
    seven = inside(n, "branch7x7x3_4", seven, 192, 3, 2);
    return CONCAT(n, three, seven, half(n, "pool", x));
}

/* -> [N, 2048, H, W] */
static struct wl_tensor *block_e(struct net n, struct wl_tensor *x)
{
    struct wl_tensor *one = same(n, "branch1x1", x, 320, 1, 1);
    struct wl_tensor *three = same(n, "branch3x3_1", x, 384, 1, 1);
    struct wl_tensor *wide = same(n, "branch3x3_2a", three, 384, 1, 3);
    struct wl_tensor *high = same(n, "branch3x3_2b", three, 384, 3, 1);
    struct wl_tensor *twice = same(n, "branch3x3dbl_1", x, 448, 1, 1);
    twice = same(n, "branch3x3dbl_2", twice, 384, 3, 3);
    struct wl_tensor *twice_wide = same(n, "branch3x3dbl_3a", twice, 384, 1, 3);
    struct wl_tensor *twice_high = same(n, "branch3x3dbl_3b", twice, 384, 3, 1);
    return CONCAT(n, one, wide, high, twice_wide, twice_high, pooled(n, x, 192));
}

/* The auxiliary head: logits from x [N,768,17,17] at full size. */
static struct wl_tensor *auxiliary(struct net n, struct wl_tensor *x, int64_t classes)
{
    const int64_t window = n.s->aux_window, stride = n.s->aux_stride;
    wl_scope_push(n.g, "AuxLogits");
    x = wl_avg_pool(n.g, "pool", x, (struct wl_pool) { .kernel = { window, window }, .stride = { stride, stride } });
    x = same(n, "conv0", x, 128, 1, 1);
    x = inside(n, "conv1", x, 768, n.s->aux_kernel, 1);
    x = wl_avg_pool(n.g, "avgpool", x, (struct wl_pool) { .kernel = { 0, 0 } });
    x = wl_linear(n.g, "fc", x, classes);
    wl_init_weight(n.g, x, aux_start);
    wl_scope_pop(n.g);
    return x;
}

static struct wl_tensor *stem(struct net n, struct wl_tensor *x)
{
    x = inside(n, "Conv2d_1a_3x3", x, 32, 3, 2);
    x = inside(n, "Conv2d_2a_3x3", x, 32, 3, 1);
    x = same(n, "Conv2d_2b_3x3", x, 64, 3, 3);
    x = half(n, "maxpool1", x);
    x = same(n, "Conv2d_3b_1x1", x, 80, 1, 1);
    x = inside(n, "Conv2d_4a_3x3", x, 192, 3, 1);
    return half(n, "maxpool2", x);
}

/* Opens the scope of block i of a stage: Mixed_5b, Mixed_5c, ... */
static void open_block(struct net n, int stage, int i) { wl_scope_push(n.g, "Mixed_%d%c", stage, 'a' + i); }

/* Both heads' logits. */
static void network(struct net n, struct wl_tensor *x, int64_t classes, struct wl_tensor **logits,
                    struct wl_tensor **aux)
{
    x = stem(n, x); /* [N,192,35,35] */
    for (int i = 0; i < n.s->a; i++) {
        open_block(n, 5, i + 1);
        x = block_a(n, x, n.s->pooled[i]); /* [N,256,35,35], then 288 */
        wl_scope_pop(n.g);
    }
    open_block(n, 6, 0);
    x = block_b(n, x); /* [N,768,17,17] */
    wl_scope_pop(n.g);
    for (int i = 0; i < n.s->c; i++) {
        open_block(n, 6, i + 1);
        x = block_c(n, x, n.s->seven[i]);
        wl_scope_pop(n.g);
    }
    *aux = auxiliary(n, x, classes);
    open_block(n, 7, 0);
    x = block_d(n, x); /* [N,1280,8,8] */
    wl_scope_pop(n.g);
    for (int i = 0; i < n.s->e; i++) {
        open_block(n, 7, i + 1);
        x = block_e(n, x); /* [N,2048,8,8] */
        wl_scope_pop(n.g);
    }
    x = wl_avg_pool(n.g, "avgpool", x, (struct wl_pool) { .kernel = { 0, 0 } });
    x = wl_dropout(n.g, "dropout", x, 0.5);
    *logits = wl_linear(n.g, "fc", x, classes);
    wl_init_weight(n.g, *logits, start);
}

static int build(struct wl_graph *g, const struct wl_image_model_opts *opts, struct wl_image_model_io *io,
                 struct wl_err *e)
{
    const struct shape *s = wl_str_eq(opts->size, "tiny") ? &tiny : &full;
    const int64_t size = opts->image_size;
    if (size < s->min_image)
        return wl_fail(e, WL_EINVAL,
                       "inception3: images of %lld pixels; expected at least %lld, for its auxiliary head",
                       (long long)size, (long long)s->min_image);
    struct wl_tensor *images = wl_image_model_inputs(g, opts, io);
    struct wl_tensor *aux;
    network((struct net) { g, s }, images, opts->classes, &io->logits, &aux);
    wl_cross_entropy(g, "aux_loss", aux, io->labels, (struct wl_loss) { .weight = 0.4, .auxiliary = true });
    io->loss = wl_cross_entropy(g, "loss", io->logits, io->labels, (struct wl_loss) { .weight = 1 });
    return wl_graph_check(g, e);
}

const struct wl_image_model wl_inception3 = {
    .name = "inception3",
    .image_size = 299,
    .tiny_image_size = 96,
    .build = build,
};
