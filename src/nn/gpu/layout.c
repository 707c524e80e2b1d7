/* Layouts: images in NHWC, weights of convolutions in KRSC; copies between them, plain memory and types, in steps and
 * on the host. */
#include "nn/gpu/layout.h"

#include "nn/gpu/internal.h"
#include "nn/gpu/kernels/layout.h"
#include "nn/gpu/plain.h"
#include "nn/lowering/step.h"

#include <string.h>

enum {
    PAD = 8,      /* channels: 16 bytes of 16-bit numbers */
    THREADS = 256 /* of a block */
};

const struct wl_gpu_layout wl_gpu_nhwc = { "nhwc", true }, wl_gpu_krsc = { "krsc", true };

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* ---- shapes ---- */

static int64_t padded_channels(enum wl_dtype type, const struct wl_gpu_layout *layout, const struct wl_dims *d)
{
    return layout && layout->pads && wl_dtype_bytes(type) == 2 ? round_up(d->d[1], PAD) : d->d[1];
}

int64_t wl_gpu_padded_channels(const struct wl_buf *b) { return padded_channels(b->dtype, b->layout, &b->dims); }

/* Of weights [K,C,R,S] the numbers of R and S. */
static int64_t area_of(const struct wl_dims *d) { return d->n == 4 ? d->d[2] * d->d[3] : 1; }

int64_t wl_gpu_pixels(const struct wl_buf *b) { return b->dims.d[0] * area_of(&b->dims); }

size_t wl_gpu_layout_bytes(enum wl_dtype type, const struct wl_gpu_layout *layout, const struct wl_dims *d)
{
    const int64_t count = layout ? d->d[0] * area_of(d) * padded_channels(type, layout, d) : wl_dims_count(d);
    return (size_t)count * wl_dtype_bytes(type);
}

static struct wl_buf *new_value(struct wl_program *p, enum wl_dtype type, const struct wl_gpu_layout *layout,
                                const struct wl_dims *d)
{
    return wl_buf_new(p, WL_MEM_VALUE, type, d, layout, wl_gpu_layout_bytes(type, layout, d));
}

/* Is its memory that of another layout too? A plain image of one pixel or one channel is NHWC where that pads nothing.
 */
static bool is_in_layout(const struct wl_buf *b, const struct wl_gpu_layout *layout)
{
    if (b->layout == layout) return true;
    const struct wl_gpu_layout *tag = layout ? layout : b->layout;
    return (area_of(&b->dims) == 1 || b->dims.d[1] == 1) && padded_channels(b->dtype, tag, &b->dims) == b->dims.d[1];
}

/* ---- copies that a step makes ---- */

union args {
    struct wl_gpu_copy_channels channels;
    struct wl_gpu_transpose transpose;
};

struct copy {
    struct wl_gpu_kernel kernel;
    struct wl_gpu_grid grid;
    union args args;
    size_t bytes; /* of the arguments */
};

/* All arguments begin with from and to. */
static int copy_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct copy *c = s->context;
    union args a = c->args;
    a.channels.from = wl_use_at(s, r, 0);
    a.channels.to = wl_use_at(s, r, 1);
    return wl_gpu_launch(&c->kernel, &c->grid, &a, c->bytes, e);
}

static int emit_copy(struct wl_program *p, const struct wl_node *n, const char *pass, const char *kernel,
                     struct copy *c, struct wl_buf *from, struct wl_buf *to, struct wl_err *e)
{
    const char *name = wl_strf(p->arena, "%s_%s_%s", kernel, wl_dtype_name(from->dtype), wl_dtype_name(to->dtype));
    int rc = wl_gpu_kernel(wl_gpu_of(p), name, &c->kernel, e);
    if (rc) return rc;
    struct wl_step *s = wl_step_emit_uses(p, n, pass, WL_TRAIN | WL_EVAL, copy_run, WL_BUFS(from), WL_BUFS(to));
    s->context = c;
    s->implementation = c->kernel.name;
    return 0;
}

/* ---- parts of the channels ---- */

struct wl_gpu_tiles wl_gpu_tiles_of(int64_t pixels, int64_t width, bool aligned)
{
    const int64_t groups = (width + PAD - 1) / PAD, columns = (groups + WL_GPU_TILE_GROUPS - 1) / WL_GPU_TILE_GROUPS;
    return (struct wl_gpu_tiles) {
        .pixels = pixels,
        .width = (int32_t)width,
        .groups = (int32_t)((groups + columns - 1) / columns),
        .aligned = aligned && width % PAD == 0,
    };
}

struct wl_gpu_grid wl_gpu_tiles_grid(const struct wl_gpu_tiles *t, int64_t pixels_each, int64_t most)
{
    const int64_t groups = (t->width + PAD - 1) / PAD, columns = (groups + t->groups - 1) / t->groups;
    const int64_t rows = WL_GPU_TILE_THREADS / t->groups * pixels_each;
    int64_t blocks = (t->pixels + rows - 1) / rows;
    if (blocks * columns > most) blocks = most / columns;
    if (blocks < 1) blocks = 1;
    return (struct wl_gpu_grid) { .x = (unsigned)blocks, .y = (unsigned)columns, .threads = WL_GPU_TILE_THREADS };
}

bool wl_gpu_slice_aligned(struct wl_gpu_slice s) { return s.at % PAD == 0 && s.stride % PAD == 0; }

int wl_gpu_emit_channels(struct wl_program *p, const struct wl_node *n, const char *pass,
                         const struct wl_gpu_channels *what, struct wl_buf *from, struct wl_buf *to, struct wl_err *e)
{
    enum { PIXELS_EACH = 4, MOST_BLOCKS = 1 << 16 };
    struct copy *c = wl_new(p->arena, struct copy);
    const bool aligned = wl_gpu_slice_aligned(what->from) && wl_gpu_slice_aligned(what->to);
    c->bytes = sizeof c->args.channels;
    c->args.channels =
        (struct wl_gpu_copy_channels) { .tiles = wl_gpu_tiles_of(wl_gpu_pixels(to), what->width, aligned),
                                        .of_from = what->from,
                                        .of_to = what->to,
                                        .channels = what->channels };
    c->grid = wl_gpu_tiles_grid(&c->args.channels.tiles, PIXELS_EACH, MOST_BLOCKS);
    int rc = emit_copy(p, n, pass, "copy_channels", c, from, to, e);
    if (rc) return rc;
    struct wl_use *uses = p->steps[p->n_steps - 1]->uses;
    uses[0].moved_bytes = (size_t)(wl_gpu_pixels(from) * what->channels) * wl_dtype_bytes(from->dtype);
    uses[1].moved_bytes = (size_t)(wl_gpu_pixels(to) * what->width) * wl_dtype_bytes(to->dtype);
    return 0;
}

/* ---- reorders ---- */

static int emit_padding(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, struct wl_buf *to,
                        struct wl_err *e)
{
    const int64_t width = wl_gpu_padded_channels(to);
    const struct wl_gpu_channels what = {
        .channels = to->dims.d[1],
        .width = width,
        .from = { 0, (int32_t)wl_gpu_padded_channels(from) },
        .to = { 0, (int32_t)width },
    };
    return wl_gpu_emit_channels(p, n, "reorder", &what, from, to, e);
}

static int emit_transpose(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, struct wl_buf *to,
                          struct wl_err *e)
{
    enum { MOST = 65535 }; /* blocks along y */
    struct copy *c = wl_new(p->arena, struct copy);
    struct wl_gpu_transpose *a = &c->args.transpose;
    *a = (struct wl_gpu_transpose) { .n = to->dims.d[0],
                                     .channels = (uint32_t)to->dims.d[1],
                                     .padded = (uint32_t)wl_gpu_padded_channels(to->layout ? to : from),
                                     .area = (uint32_t)area_of(&to->dims) };
    a->aligned = a->padded % PAD == 0;
    const int64_t work = round_up(a->padded, PAD) / PAD * a->area;
    if (work > UINT32_MAX - THREADS)
        return wl_fail(e, WL_EINVAL, "%s: images of %s are too large to be reordered: expected less than 2^35 numbers",
                       n->name, wl_dims_text(p->arena, &to->dims));
    c->bytes = sizeof *a;
    c->grid = (struct wl_gpu_grid) { .x = (unsigned)((work + THREADS - 1) / THREADS),
                                     .y = (unsigned)(a->n < MOST ? a->n : MOST),
                                     .threads = THREADS };
    return emit_copy(p, n, "reorder", to->layout ? "to_channels_last" : "from_channels_last", c, from, to, e);
}

int wl_gpu_reorder(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, struct wl_buf *to,
                   struct wl_err *e)
{
    const struct wl_gpu_layout *of_from = from->layout, *of_to = to->layout, *either = of_to ? of_to : of_from;
    WL_CHECK(!of_from || !of_to || of_from == of_to);
    p->reorders++;
    const bool same_order = of_from == of_to || area_of(&to->dims) == 1 || to->dims.d[1] == 1;
    if (!same_order) return emit_transpose(p, n, from, to, e);
    if (either && wl_gpu_padded_channels(from) != wl_gpu_padded_channels(to)) return emit_padding(p, n, from, to, e);
    return wl_gpu_emit_cast(p, n, from, to, e);
}

int wl_gpu_in_layout(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, enum wl_dtype type,
                     const struct wl_gpu_layout *layout, struct wl_buf **out, struct wl_err *e)
{
    *out = from;
    if (from->dtype == type && is_in_layout(from, layout)) return 0;
    *out = new_value(p, type, layout, &from->dims);
    return wl_gpu_reorder(p, n, from, *out, e);
}

int wl_gpu_nhwc_input(struct wl_program *p, const struct wl_node *n, int i, struct wl_buf **out, struct wl_err *e)
{
    return wl_gpu_in_layout(p, n, p->value[n->in[i]->id], p->precision, &wl_gpu_nhwc, out, e);
}

int wl_gpu_plain_input(struct wl_program *p, const struct wl_node *n, int i, struct wl_buf **out, struct wl_err *e)
{
    struct wl_buf *x = p->value[n->in[i]->id];
    return wl_gpu_in_layout(p, n, x, x->dtype, NULL, out, e);
}

/* Where an image is one pixel and nothing is padded, plain memory is NHWC: what follows may read it as it is. */
struct wl_buf *wl_gpu_nhwc_value(struct wl_program *p, const struct wl_dims *d)
{
    const bool plain = area_of(d) == 1 && padded_channels(p->precision, &wl_gpu_nhwc, d) == d->d[1];
    return new_value(p, p->precision, plain ? NULL : &wl_gpu_nhwc, d);
}

struct wl_buf *wl_gpu_nhwc_result(struct wl_program *p, const struct wl_node *n)
{
    return wl_gpu_nhwc_value(p, &n->out->dims);
}

int wl_gpu_gradient_add(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *x, struct wl_buf *dx,
                        struct wl_err *e)
{
    const struct wl_buf *value = p->value[x->id];
    int rc = 0;
    if (value->layout != dx->layout || value->dtype != dx->dtype) {
        struct wl_buf *to = wl_buf_like(p, value);
        rc = wl_gpu_reorder(p, n, dx, to, e);
        dx = to;
    }
    return rc ? rc : wl_gradient_add(p, n, x, dx, e);
}

/* ---- outside of steps: states, kept values ---- */

const char *wl_gpu_layout_name(const void *layout, struct wl_arena *a)
{
    (void)a;
    return ((const struct wl_gpu_layout *)layout)->name;
}

static float widened(const void *at, enum wl_dtype type, int64_t i)
{
    if (type == WL_F32) return ((const float *)at)[i];
    const uint16_t bits = ((const uint16_t *)at)[i];
    return type == WL_F16 ? wl_f16_to_f32(bits) : wl_bf16_to_f32(bits);
}

/* Where number i of a plain [N,C,area] is in the buffer. */
static int64_t index_in(const struct wl_buf *b, int64_t i)
{
    if (!b->layout) return i;
    const int64_t area = area_of(&b->dims), channels = b->dims.d[1];
    const int64_t n = i / (channels * area), c = i / area % channels, pixel = i % area;
    return (n * area + pixel) * wl_gpu_padded_channels(b) + c;
}

/* The buffer's bytes on the host. */
static int bounce(struct wl_arena *a, const struct wl_buf *b, void **at, struct wl_err *e)
{
    *at = wl_try_alloc(a, b->bytes, sizeof(float), "a copy of a state of the GPU", e);
    return *at ? 0 : WL_ENOMEM;
}

int wl_gpu_read(void *device, const struct wl_buf *b, float *to, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    void *raw;
    int rc = bounce(a, b, &raw, e);
    if (!rc) rc = wl_gpu_get(device, raw, b->at, b->bytes, e);
    for (int64_t i = 0; !rc && i < wl_dims_count(&b->dims); i++) to[i] = widened(raw, b->dtype, index_in(b, i));
    wl_arena_free(a);
    return rc;
}

int wl_gpu_write(void *device, const struct wl_buf *b, const float *from, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    void *raw;
    int rc = bounce(a, b, &raw, e);
    for (int64_t i = 0; !rc && i < wl_dims_count(&b->dims); i++) ((float *)raw)[index_in(b, i)] = from[i];
    if (!rc) rc = wl_gpu_put(device, b->at, raw, b->bytes, e);
    wl_arena_free(a);
    return rc;
}
