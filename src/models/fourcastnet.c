/* FourCastNet: an adaptive Fourier neural operator over patches of the globe, which forecasts one step, or two for
 * fine-tuning: the second from the first, with the gradient through both and the sum of both losses, as in the authors'
 * program.
 * Source: Pathak et al. 2022, arXiv:2202.11214; Guibas et al. 2021, arXiv:2111.13587. Layers, names and
 * initialisation are those of that program; as there, spectra keep half the height plus one columns (46 of 91 at full
 * size), and all rows. At full size, with 20 channels and 720 x 1440 points, it has 74,690,304 numbers: the norm after
 * the blocks, which that program does not use, is omitted. */
#include "models/fourcastnet.h"

#include <math.h>

static const double DEVIATION = 0.02, EPS = 1e-6, SHRINK = 0.01;

struct shape {
    int64_t patch, features, depth, blocks, hidden; /* hidden: of the two layers of each block, in features */
};
static const struct shape full = { .patch = 8, .features = 768, .depth = 12, .blocks = 8, .hidden = 4 };
static const struct shape tiny = { .patch = 4, .features = 64, .depth = 3, .blocks = 4, .hidden = 2 };

static const struct shape *shape_of(const char *size) { return wl_str_eq(size, "tiny") ? &tiny : &full; }

int64_t wl_fourcastnet_patch(const char *size) { return shape_of(size)->patch; }

static struct wl_tensor *norm(struct wl_graph *g, const char *name, struct wl_tensor *x)
{
    return wl_layer_norm(g, name, x, NULL, (struct wl_layer_norm) { .eps = EPS });
}

static struct wl_tensor *project(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_project how)
{
    how.deviation = DEVIATION;
    return wl_project(g, name, x, how);
}

/* x + the field whose spectrum is a small network of x's spectrum */
static struct wl_tensor *filter(struct wl_graph *g, const struct shape *s, struct wl_fourier grid, struct wl_tensor *x)
{
    const struct wl_complex first = { .features = s->features, .blocks = s->blocks, .relu = true };
    const struct wl_complex second = { .features = s->features, .blocks = s->blocks, .shrink = SHRINK };
    wl_scope_push(g, "filter");
    struct wl_tensor *spectrum = wl_fft2(g, "fft", x, grid);
    spectrum = wl_complex_linear(g, "1", spectrum, first);
    spectrum = wl_complex_linear(g, "2", spectrum, second);
    x = wl_add(g, "add", wl_inverse_fft2(g, "inverse", spectrum, grid), x);
    wl_scope_pop(g);
    return x;
}

/* The residual stream stays in f32, which halves the error of bf16 gradients against f64. */
static struct wl_tensor *block(struct wl_graph *g, const struct shape *s, struct wl_fourier grid, struct wl_tensor *x)
{
    wl_keep_f32(g, x);
    x = wl_add(g, "skip1", filter(g, s, grid, norm(g, "norm1", x)), x);
    wl_keep_f32(g, x);
    struct wl_tensor *y = norm(g, "norm2", x);
    y = project(g, "mlp.fc1", y, (struct wl_project) { .features = s->hidden * s->features, .gelu = true });
    y = project(g, "mlp.fc2", y, (struct wl_project) { .features = s->features });
    return wl_add(g, "skip2", y, x);
}

/* Rows of patches, initialised as a convolution whose window is a patch. */
static struct wl_tensor *embed(struct wl_graph *g, const struct shape *s, struct wl_tensor *fields, int64_t squares)
{
    struct wl_tensor *x = wl_patches(g, "patches", fields, s->patch);
    const struct wl_init fan_in = { WL_INIT_UNIFORM, 1 / sqrt((double)wl_tensor_dims(x)->d[1]) };
    x = wl_project(g, "patch_embed.proj", x, (struct wl_project) { .features = s->features });
    wl_init_weight(g, x, fan_in);
    wl_init_bias(g, x, fan_in);
    return wl_position(g, "pos_embed", x, squares);
}

/* The fields one step later. */
static struct wl_tensor *forecast(struct wl_graph *g, const struct wl_fourcastnet_opts *o, struct wl_tensor *fields)
{
    const struct shape *s = shape_of(o->size);
    const int64_t down = o->height / s->patch, across = o->width / s->patch;
    const int64_t half = (down < across ? down : across) / 2 + 1;
    const struct wl_fourier grid = { .height = down, .width = across, .modes = half, .blocks = s->blocks };
    const struct wl_patch patch = { .side = s->patch, .channels = o->channels, .height = o->height, .width = o->width };
    struct wl_tensor *x = embed(g, s, fields, down * across);
    for (int64_t i = 0; i < s->depth; i++) {
        wl_scope_push(g, "blocks.%lld", (long long)i);
        x = block(g, s, grid, x);
        wl_scope_pop(g);
    }
    const struct wl_project head = { .features = o->channels * s->patch * s->patch, .no_bias = true };
    return wl_from_patches(g, "prediction", project(g, "head", x, head), patch);
}

int wl_fourcastnet_build(struct wl_graph *g, const struct wl_fourcastnet_opts *o, struct wl_fourcastnet_io *io,
                         struct wl_err *e)
{
    static const char *const targets[WL_FOURCASTNET_MAX_STEPS] = { "target", "target2" };
    const struct wl_dims fields = WL_DIMS(o->batch, o->channels, o->height, o->width);
    io->steps = o->steps ? o->steps : 1;
    if (io->steps < 1 || io->steps > WL_FOURCASTNET_MAX_STEPS)
        return wl_fail(e, WL_EINVAL, "fourcastnet: %lld steps, expected 1 to %d", (long long)io->steps,
                       WL_FOURCASTNET_MAX_STEPS);
    io->fields = wl_input(g, "fields", WL_F32, fields);
    for (int64_t i = 0; i < io->steps; i++) io->target[i] = wl_input(g, targets[i], WL_F32, fields);
    for (int64_t i = 0; i < io->steps; i++) {
        if (i) wl_scope_reuse(g, "step%lld", (long long)i + 1);
        io->prediction[i] = forecast(g, o, i ? io->prediction[i - 1] : io->fields);
        wl_relative_l2(g, "loss", io->prediction[i], io->target[i], (struct wl_loss) { .weight = 1 });
        if (i) wl_scope_pop(g);
    }
    return wl_graph_check(g, e);
}
