/* Operations on fields on a grid. */
#include "nn/graph/builder.h"
#include "nn/graph/shapes.h"

static bool reads_rows(struct wl_graph *g, const struct wl_node *n)
{
    const struct wl_tensor *x = n->in[0];
    if (!wl_check_f32(g, n, x)) return false;
    if (x->dims.n == 2) return true;
    wl_graph_fail(g, "%s: %s needs rows [M,F], %s is %s", n->name, wl_op_name(n->op), x->name,
                  wl_dims_text(g->arena, &x->dims));
    return false;
}

/* ---- patches ---- */

static bool patches_fit(struct wl_graph *g, const struct wl_node *n, int64_t height, int64_t width)
{
    const int64_t s = n->u.patch.side;
    if (s > 0 && height > 0 && width > 0 && height % s == 0 && width % s == 0) return true;
    wl_graph_fail(g, "%s: %s of %lld x %lld points does not divide images of %lld x %lld", n->name, wl_op_name(n->op),
                  (long long)s, (long long)s, (long long)height, (long long)width);
    return false;
}

struct wl_tensor *wl_patches(struct wl_graph *g, const char *name, struct wl_tensor *x, int64_t side)
{
    struct wl_node *n = wl_node_new(g, WL_OP_PATCHES, name, x, NULL);
    const int64_t *d = x->dims.d;
    if (!wl_check_f32(g, n, x)) return wl_node_failed(g, n);
    if (x->dims.n != 4) {
        wl_graph_fail(g, "%s: patches of images [N,C,H,W], %s is %s", n->name, x->name,
                      wl_dims_text(g->arena, &x->dims));
        return wl_node_failed(g, n);
    }
    n->u.patch = (struct wl_patch) { .side = side, .channels = d[1], .height = d[2], .width = d[3] };
    if (!patches_fit(g, n, d[2], d[3])) return wl_node_failed(g, n);
    return wl_node_out(g, n, &WL_DIMS(d[0] * (d[2] / side) * (d[3] / side), d[1] * side * side));
}

struct wl_tensor *wl_from_patches(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_patch patch)
{
    struct wl_node *n = wl_node_new(g, WL_OP_FROM_PATCHES, name, x, NULL);
    n->u.patch = patch;
    if (!reads_rows(g, n) || !patches_fit(g, n, patch.height, patch.width)) return wl_node_failed(g, n);
    const int64_t squares = patch.height / patch.side * (patch.width / patch.side), *d = x->dims.d;
    if (d[0] % squares || d[1] != patch.channels * patch.side * patch.side) {
        wl_graph_fail(g, "%s: %s [%lld squares of each image, %lld] of %s %s", n->name, wl_op_name(n->op),
                      (long long)squares, (long long)(patch.channels * patch.side * patch.side), x->name,
                      wl_dims_text(g->arena, &x->dims));
        return wl_node_failed(g, n);
    }
    return wl_node_out(g, n, &WL_DIMS(d[0] / squares, patch.channels, patch.height, patch.width));
}

struct wl_patch_size wl_patch_size(const struct wl_node *n)
{
    const struct wl_patch *p = &n->u.patch;
    const struct wl_tensor *images = n->op == WL_OP_PATCHES ? n->in[0] : n->out;
    return (struct wl_patch_size) {
        .n = images->dims.d[0], .c = p->channels, .h = p->height, .w = p->width, .side = p->side
    };
}

/* ---- position ---- */

struct wl_tensor *wl_position(struct wl_graph *g, const char *name, struct wl_tensor *x, int64_t points)
{
    struct wl_node *n = wl_node_new(g, WL_OP_POSITION, name, x, NULL);
    if (!reads_rows(g, n)) return wl_node_failed(g, n);
    if (points < 1 || x->dims.d[0] % points) {
        wl_graph_fail(g, "%s: position of %lld points in %s %s", n->name, (long long)points, x->name,
                      wl_dims_text(g->arena, &x->dims));
        return wl_node_failed(g, n);
    }
    const struct wl_init start = { WL_INIT_NORMAL, 0.02 };
    n->par[0] = wl_param(g, n, name, WL_DIMS(points, x->dims.d[1]), start, false);
    return wl_node_out(g, n, &x->dims);
}

/* ---- spectra ---- */

static bool has_factors(int64_t n)
{
    for (int64_t f = 2; f <= 5; f++)
        while (n > 1 && n % f == 0) n /= f;
    return n == 1;
}

/* Rows of `points` a field, `width` numbers each. */
static struct wl_tensor *transform(struct wl_graph *g, struct wl_node *n, struct wl_fourier f, int64_t from, int64_t to,
                                   int64_t parts_in, int64_t parts_out)
{
    const int64_t *d = n->in[0]->dims.d;
    n->u.fourier = f;
    if (!reads_rows(g, n)) return wl_node_failed(g, n);
    if (!has_factors(f.height) || !has_factors(f.width))
        wl_graph_fail(g, "%s: %s of %lld x %lld points; sizes are products of 2, 3 and 5", n->name, wl_op_name(n->op),
                      (long long)f.height, (long long)f.width);
    else if (f.modes < 1 || f.modes > f.width / 2 + 1)
        wl_graph_fail(g, "%s: %s keeps %lld columns, expected 1 to %lld", n->name, wl_op_name(n->op),
                      (long long)f.modes, (long long)(f.width / 2 + 1));
    else if (d[0] % from || f.blocks < 1 || d[1] % (f.blocks * parts_in))
        wl_graph_fail(g, "%s: %s of %s %s in fields of %lld rows and %lld blocks", n->name, wl_op_name(n->op),
                      n->in[0]->name, wl_dims_text(g->arena, &n->in[0]->dims), (long long)from, (long long)f.blocks);
    if (g->err.code) return wl_node_failed(g, n);
    return wl_node_out(g, n, &WL_DIMS(d[0] / from * to, d[1] / parts_in * parts_out));
}

struct wl_tensor *wl_fft2(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_fourier f)
{
    struct wl_node *n = wl_node_new(g, WL_OP_FFT2, name, x, NULL);
    struct wl_tensor *s = transform(g, n, f, f.height * f.width, f.height * f.modes, 1, 2);
    s->f32 = true;
    return s;
}

struct wl_tensor *wl_inverse_fft2(struct wl_graph *g, const char *name, struct wl_tensor *s, struct wl_fourier f)
{
    struct wl_node *n = wl_node_new(g, WL_OP_INVERSE_FFT2, name, s, NULL);
    return transform(g, n, f, f.height * f.modes, f.height * f.width, 2, 1);
}

struct wl_fourier_size wl_fourier_size(const struct wl_node *n)
{
    const struct wl_fourier *f = &n->u.fourier;
    const struct wl_tensor *x = n->op == WL_OP_FFT2 ? n->in[0] : n->out;
    return (struct wl_fourier_size) {
        .n = x->dims.d[0] / (f->height * f->width),
        .h = f->height,
        .w = f->width,
        .modes = f->modes,
        .blocks = f->blocks,
        .size = x->dims.d[1] / f->blocks,
    };
}

/* 4 real products for a complex one. */
double wl_flops_complex_linear(const struct wl_graph *g, const struct wl_node *n)
{
    (void)g;
    return 4 * (double)wl_dims_count(&n->out->dims) * (double)n->par[0]->dims.d[2];
}

struct wl_tensor *wl_complex_linear(struct wl_graph *g, const char *name, struct wl_tensor *s, struct wl_complex c)
{
    struct wl_node *n = wl_node_new(g, WL_OP_COMPLEX_LINEAR, name, s, NULL);
    n->u.complex = c;
    if (!reads_rows(g, n)) return wl_node_failed(g, n);
    if (c.blocks < 1 || s->dims.d[1] % (2 * c.blocks) || c.features < 1 || c.features % c.blocks ||
        c.relu == (c.shrink > 0)) {
        wl_graph_fail(g, "%s: complex_linear in %lld blocks to %lld features of %s %s, with relu or shrink", n->name,
                      (long long)c.blocks, (long long)c.features, s->name, wl_dims_text(g->arena, &s->dims));
        return wl_node_failed(g, n);
    }
    const struct wl_init start = { WL_INIT_NORMAL, 0.02 };
    const int64_t in = s->dims.d[1] / 2 / c.blocks, out = c.features / c.blocks;
    n->par[0] = wl_param(g, n, wl_strf(g->arena, "w%s", name), WL_DIMS(2, c.blocks, in, out), start, true);
    n->par[1] = wl_param(g, n, wl_strf(g->arena, "b%s", name), WL_DIMS(2, c.blocks, out), start, false);
    struct wl_tensor *y = wl_node_out(g, n, &WL_DIMS(s->dims.d[0], 2 * c.features));
    y->f32 = true;
    return y;
}

struct wl_complex_size wl_complex_size(const struct wl_node *n)
{
    const int64_t *w = n->par[0]->dims.d;
    return (struct wl_complex_size) { .rows = n->out->dims.d[0], .blocks = w[1], .in = w[2], .out = w[3] };
}
