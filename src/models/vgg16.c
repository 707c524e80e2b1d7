/* VGG16. Source: Simonyan and Zisserman 2014, arXiv:1409.1556, table 1, column D; dropout 0.5 after both hidden layers.
 * Names, order and initialisation of the parameters are torchvision's: 138,357,544 numbers at full size. */
#include "models/image_models.h"

#include <math.h>
#include <stdio.h>

enum { STAGES = 5, FULL_HIDDEN = 4096 };

struct shape {
    int64_t width[STAGES], convs[STAGES]; /* channels and 3x3 convolutions of each stage, followed by a 2x2 maximum */
    int64_t hidden;                       /* features of the two hidden layers */
    int64_t grid;                         /* the features enter them as a map of grid x grid */
};
static const struct shape full = {
    .width = { 64, 128, 256, 512, 512 }, .convs = { 2, 2, 3, 3, 3 }, .hidden = FULL_HIDDEN, .grid = 7
};
static const struct shape tiny = {
    .width = { 16, 32, 64, 64, 64 }, .convs = { 1, 1, 1, 1, 1 }, .hidden = 128, .grid = 1
};

static const struct wl_init zero = { WL_INIT_CONSTANT, 0 };

/* The name of layer i, valid until the next call with this buffer. */
static const char *layer_name(char name[32], int i)
{
    snprintf(name, 32, "features.%d", i);
    return name;
}

/* Layers are numbered as in torchvision: features.0 is a convolution, features.1 its relu. */
static struct wl_tensor *features(struct wl_graph *g, struct wl_tensor *x, const struct shape *s)
{
    const struct wl_pool half = { .kernel = { 2, 2 }, .stride = { 2, 2 } };
    char name[32];
    int layer = 0;
    for (int i = 0; i < STAGES; i++) {
        const struct wl_conv conv = { .channels = s->width[i], .kernel = { 3, 3 }, .pad = { 1, 1 }, .bias = true };
        for (int64_t c = 0; c < s->convs[i]; c++) {
            x = wl_conv2d(g, layer_name(name, layer++), x, conv);
            wl_init_bias(g, x, zero);
            x = wl_relu(g, layer_name(name, layer++), x);
        }
        x = wl_max_pool(g, layer_name(name, layer++), x, half);
    }
    return x;
}

/* torchvision's adaptive mean over grid x grid windows, which must tile the map; the identity at 224 pixels. */
static struct wl_tensor *to_grid(struct wl_graph *g, struct wl_tensor *x, const struct shape *s)
{
    int64_t window = wl_tensor_dims(x)->d[2] / s->grid;
    if (window == 1) return x;
    return wl_avg_pool(g, "avgpool", x,
                       (struct wl_pool) { .kernel = { window, window }, .stride = { window, window } });
}

/* torchvision: N(0, 0.01). Smaller hidden layers start with a larger deviation, so that the signal keeps its scale. */
static struct wl_tensor *linear(struct wl_graph *g, const char *name, struct wl_tensor *x, int64_t to,
                                const struct shape *s)
{
    struct wl_init normal = { WL_INIT_NORMAL, 0.01 * sqrt((double)FULL_HIDDEN / (double)s->hidden) };
    x = wl_linear(g, name, x, to);
    wl_init_weight(g, x, normal);
    wl_init_bias(g, x, zero);
    return x;
}

static int check_image(const struct shape *s, int64_t size, struct wl_err *e)
{
    int64_t map = size >> STAGES;
    if (map >= s->grid && map % s->grid == 0) return 0;
    return wl_fail(e, WL_EINVAL,
                   "vgg16: images of %lld pixels leave a map of %lld x %lld; it needs %lld x %lld or a multiple, as "
                   "images of %lld pixels leave",
                   (long long)size, (long long)map, (long long)map, (long long)s->grid, (long long)s->grid,
                   (long long)(s->grid << STAGES));
}

static int build(struct wl_graph *g, const struct wl_image_model_opts *opts, struct wl_image_model_io *io,
                 struct wl_err *e)
{
    const struct shape *s = wl_str_eq(opts->size, "tiny") ? &tiny : &full;
    const int64_t size = opts->image_size;
    int rc = check_image(s, size, e);
    if (rc) return rc;
    struct wl_tensor *images = wl_image_model_inputs(g, opts, io);

    struct wl_tensor *x = to_grid(g, features(g, images, s), s); /* [N,512,7,7] at full size */
    x = wl_relu(g, "classifier.1", linear(g, "classifier.0", x, s->hidden, s));
    x = wl_dropout(g, "classifier.2", x, 0.5);
    x = wl_relu(g, "classifier.4", linear(g, "classifier.3", x, s->hidden, s));
    x = wl_dropout(g, "classifier.5", x, 0.5);

    io->logits = linear(g, "classifier.6", x, opts->classes, s);
    io->loss = wl_cross_entropy(g, "loss", io->logits, io->labels, (struct wl_loss) { .weight = 1 });
    return wl_graph_check(g, e);
}

const struct wl_image_model wl_vgg16 = {
    .name = "vgg16",
    .image_size = 224,
    .tiny_image_size = 64,
    .build = build,
};
