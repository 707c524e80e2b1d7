/* ResNet50 v1.5. Source: He et al. 2015, arXiv:1512.03385, table 1, with the stride of a stage in its first 3x3
 * convolution instead of the 1x1 before it ("v1.5", as in torchvision). Names, order and initialisation of the
 * parameters are torchvision's, so that its weights can be compared one by one: 25,557,032 numbers at full size. */
#include "models/image_models.h"

enum { EXPANSION = 4 }; /* output channels of a bottleneck per channel of its width */

struct shape {
    int64_t width;     /* of the first stage's bottlenecks; doubles with each stage */
    int64_t blocks[4]; /* of each stage */
};
static const struct shape full = { .width = 64, .blocks = { 3, 4, 6, 3 } };
static const struct shape tiny = { .width = 16, .blocks = { 1, 1, 1, 1 } };

static struct wl_conv conv(int64_t channels, int64_t kernel, int64_t stride)
{
    return (struct wl_conv) { .channels = channels,
                              .kernel = { kernel, kernel },
                              .stride = { stride, stride },
                              .pad = { kernel / 2, kernel / 2 } };
}

static const struct wl_batch_norm_opts norm = { .relu = false }, norm_relu = { .relu = true };

/* x [N,C,H,W] -> [N, 4*width, H/stride, W/stride]: 1x1, 3x3, 1x1, added to the identity, or to a 1x1
 * projection where the shape changes. */
static struct wl_tensor *bottleneck(struct wl_graph *g, struct wl_tensor *x, int64_t width, int64_t stride,
                                    bool project)
{
    struct wl_tensor *identity = x;
    struct wl_tensor *y = wl_conv2d(g, "conv1", x, conv(width, 1, 1));
    y = wl_batch_norm(g, "bn1", y, norm_relu);
    y = wl_conv2d(g, "conv2", y, conv(width, 3, stride));
    y = wl_batch_norm(g, "bn2", y, norm_relu);
    y = wl_conv2d(g, "conv3", y, conv(EXPANSION * width, 1, 1));
    y = wl_batch_norm(g, "bn3", y, norm);
    if (project) {
        identity = wl_conv2d(g, "downsample.0", x, conv(EXPANSION * width, 1, stride));
        identity = wl_batch_norm(g, "downsample.1", identity, norm);
    }
    return wl_add_relu(g, "add", y, identity);
}

static struct wl_tensor *stage(struct wl_graph *g, struct wl_tensor *x, const struct shape *s, int index)
{
    for (int64_t b = 0; b < s->blocks[index]; b++) {
        wl_scope_push(g, "layer%d.%lld", index + 1, (long long)b);
        x = bottleneck(g, x, s->width << index, b == 0 && index > 0 ? 2 : 1, b == 0);
        wl_scope_pop(g);
    }
    return x;
}

static int build(struct wl_graph *g, const struct wl_image_model_opts *opts, struct wl_image_model_io *io,
                 struct wl_err *e)
{
    const struct shape *s = wl_str_eq(opts->size, "tiny") ? &tiny : &full;
    const int64_t size = opts->image_size;
    if (size < 32)
        return wl_fail(e, WL_EINVAL, "resnet50: images of %lld pixels; expected at least 32", (long long)size);
    struct wl_tensor *images = wl_image_model_inputs(g, opts, io);

    struct wl_tensor *x = wl_conv2d(g, "conv1", images, conv(s->width, 7, 2)); /* [N,64,112,112] at full size */
    x = wl_batch_norm(g, "bn1", x, norm_relu);
    x = wl_max_pool(g, "maxpool", x, (struct wl_pool) { .kernel = { 3, 3 }, .stride = { 2, 2 }, .pad = { 1, 1 } });
    for (int i = 0; i < 4; i++) x = stage(g, x, s, i); /* 256 x 56x56, 512 x 28x28, 1024 x 14x14, 2048 x 7x7 */
    x = wl_avg_pool(g, "avgpool", x, (struct wl_pool) { .kernel = { 0, 0 } });

    io->logits = wl_linear(g, "fc", x, opts->classes);
    io->loss = wl_cross_entropy(g, "loss", io->logits, io->labels, (struct wl_loss) { .weight = 1 });
    return wl_graph_check(g, e);
}

const struct wl_image_model wl_resnet50 = {
    .name = "resnet50",
    .image_size = 224,
    .tiny_image_size = 64,
    .build = build,
};
