/* How a program runs operations on fields: on plain values, which other layouts are copied into first. */
#include "nn/lowering/step.h"

/* ---- maps ---- */

struct map_step {
    void (*run)(const struct wl_node *n, const void *prepared, void *scratch, const float *x, float *y);
    const void *prepared;
};

static int map_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct map_step *own = s->own;
    own->run(s->node, own->prepared, s->n_uses > 2 ? wl_step_use_f32(s, r, 2) : NULL, wl_step_use_f32(s, r, 0),
             wl_step_use_f32(s, r, 1));
    return 0;
}

static void emit_map(struct wl_program *p, const struct wl_node *n, const struct wl_linear_map *map, bool back,
                     struct wl_buf *from, struct wl_buf *to)
{
    struct map_step *own = wl_new(p->arena, struct map_step);
    own->run = back ? map->adjoint : map->apply;
    own->prepared = map->prepare ? map->prepare(n, p->arena) : NULL;
    struct wl_buf *scratch = NULL;
    if (map->scratch)
        scratch = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS((int64_t)(map->scratch(n) / sizeof(float))));
    const unsigned when = back ? WL_TRAIN : WL_TRAIN | WL_EVAL;
    wl_step_emit_uses(p, n, back ? "backward" : "forward", when, map_run, WL_BUFS(from), WL_BUFS(to, scratch))->own =
        own;
}

int wl_lower_linear_map(struct wl_program *p, const struct wl_node *n, const struct wl_linear_map *map,
                        struct wl_err *e)
{
    struct wl_buf *x, *y = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    int rc = wl_lower_plain_value(p, n, n->in[0], &x, e);
    if (rc) return rc;
    p->value[n->out->id] = y;
    emit_map(p, n, map, false, x, y);
    return 0;
}

int wl_lower_linear_map_backward(struct wl_program *p, const struct wl_node *n, const struct wl_linear_map *map,
                                 struct wl_err *e)
{
    struct wl_buf *dy, *dx = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->in[0]->dims);
    int rc = wl_lower_plain_gradient(p, n, n->out, &dy, e);
    if (rc) return rc;
    emit_map(p, n, map, true, dy, dx);
    rc = wl_gradient_add_plain(p, n, n->in[0], dx, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

/* The maps of nn/ref. from_patches puts the channels last, as the authors of FourCastNet do. */
#define MAP(name, call)                                                                                      \
    static void name(const struct wl_node *n, const void *prepared, void *scratch, const float *x, float *y) \
    {                                                                                                        \
        (void)prepared;                                                                                      \
        (void)scratch;                                                                                       \
        call;                                                                                                \
    }
MAP(to_patches, {
    struct wl_patch_size v = wl_patch_size(n);
    wl_ref_to_patches(&v, n->op == WL_OP_FROM_PATCHES, x, y);
})
MAP(from_patches, {
    struct wl_patch_size v = wl_patch_size(n);
    wl_ref_from_patches(&v, n->op == WL_OP_FROM_PATCHES, x, y);
})
MAP(fft2, {
    struct wl_fourier_size v = wl_fourier_size(n);
    wl_ref_fft2(&v, n->op == WL_OP_INVERSE_FFT2, x, y);
})
MAP(inverse_fft2, {
    struct wl_fourier_size v = wl_fourier_size(n);
    wl_ref_inverse_fft2(&v, n->op == WL_OP_INVERSE_FFT2, x, y);
})

static const struct wl_linear_map maps[WL_OP_COUNT] = {
    [WL_OP_PATCHES] = { .apply = to_patches, .adjoint = from_patches },
    [WL_OP_FROM_PATCHES] = { .apply = from_patches, .adjoint = to_patches },
    [WL_OP_FFT2] = { .apply = fft2, .adjoint = inverse_fft2 },
    [WL_OP_INVERSE_FFT2] = { .apply = inverse_fft2, .adjoint = fft2 },
};

/* ---- position ---- */

struct position_step {
    const struct wl_position_kernels *kernels;
    int64_t n, size;
};

static int position_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct position_step *own = s->own;
    own->kernels->forward(own->n, own->size, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
                          wl_step_use_f32(s, r, 2));
    return 0;
}

static int position_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct position_step *own = s->own;
    own->kernels->backward(own->n, own->size, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1));
    return 0;
}

static struct position_step *position_step(struct wl_program *p, const struct wl_node *n,
                                           const struct wl_position_kernels *k)
{
    struct position_step *own = wl_new(p->arena, struct position_step);
    const int64_t size = wl_dims_count(&n->par[0]->dims);
    *own = (struct position_step) { .kernels = k, .n = wl_dims_count(&n->out->dims) / size, .size = size };
    return own;
}

int wl_lower_position(struct wl_program *p, const struct wl_node *n, const struct wl_position_kernels *k,
                      struct wl_err *e)
{
    struct wl_buf *x, *y = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    int rc = wl_lower_plain_value(p, n, n->in[0], &x, e);
    if (rc) return rc;
    struct wl_buf *w = wl_buf_param(p, n->par[0], NULL, y->bytes / (size_t)(n->out->dims.d[0] / n->par[0]->dims.d[0]));
    p->value[n->out->id] = y;
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, position_run, WL_BUFS(x, w), WL_BUFS(y))->own =
        position_step(p, n, k);
    return 0;
}

/* The gradient of x is that of y. */
int wl_lower_position_backward(struct wl_program *p, const struct wl_node *n, const struct wl_position_kernels *k,
                               struct wl_err *e)
{
    struct wl_buf *dy;
    int rc = wl_lower_plain_gradient(p, n, n->out, &dy, e);
    if (rc) return rc;
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, position_backward_run, WL_BUFS(dy),
                      WL_BUFS(p->gradient[n->par[0]->id]))
        ->own = position_step(p, n, k);
    if (n->in[0]->gradient) rc = wl_gradient_add_plain(p, n, n->in[0], dy, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

/* ---- complex_linear ---- */

static int complex_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_complex_size v = wl_complex_size(s->node);
    wl_ref_complex_linear(&v, s->node->u.complex.shrink, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
                          wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 3));
    return 0;
}

static int complex_data_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_complex_size v = wl_complex_size(s->node);
    wl_ref_complex_linear_backward_data(&v, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
                                        wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 3));
    return 0;
}

static int complex_weights_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_complex_size v = wl_complex_size(s->node);
    wl_ref_complex_linear_backward_weights(&v, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
                                           wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 3),
                                           wl_step_use_f32(s, r, 4));
    return 0;
}

static struct wl_buf *plain_param(struct wl_program *p, const struct wl_tensor *t)
{
    return wl_buf_param(p, t, NULL, (size_t)wl_dims_count(&t->dims) * sizeof(float));
}

static int complex_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x, *w = plain_param(p, n->par[0]), *b = plain_param(p, n->par[1]);
    int rc = wl_lower_plain_value(p, n, n->in[0], &x, e);
    if (rc) return rc;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    p->kept[n->out->id].buf[0] = x;
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, complex_run, WL_BUFS(x, w, b), WL_BUFS(y));
    return 0;
}

static int complex_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x = p->kept[n->out->id].buf[0], *y = p->value[n->out->id], *dy = p->gradient[n->out->id];
    wl_step_emit_uses(p, n, "backward weights", WL_TRAIN, complex_weights_run, WL_BUFS(x, y, dy),
                      WL_BUFS(p->gradient[n->par[0]->id], p->gradient[n->par[1]->id]));
    int rc = 0;
    if (n->in[0]->gradient) {
        struct wl_buf *dx = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->in[0]->dims);
        wl_step_emit_uses(p, n, "backward data", WL_TRAIN, complex_data_run, WL_BUFS(y, dy, p->value[n->par[0]->id]),
                          WL_BUFS(dx));
        rc = wl_gradient_add_plain(p, n, n->in[0], dx, e);
    }
    wl_gradient_done(p, n->out);
    return rc;
}

/* ---- nn/ref ---- */

static const struct wl_position_kernels position = { wl_ref_position, wl_ref_position_backward };

int wl_ref_lower_field(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    if (n->op == WL_OP_POSITION) return wl_lower_position(p, n, &position, e);
    if (n->op == WL_OP_COMPLEX_LINEAR) return complex_forward(p, n, e);
    return wl_lower_linear_map(p, n, &maps[n->op], e);
}

int wl_ref_lower_field_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    if (n->op == WL_OP_POSITION) return wl_lower_position_backward(p, n, &position, e);
    if (n->op == WL_OP_COMPLEX_LINEAR) return complex_backward(p, n, e);
    return wl_lower_linear_map_backward(p, n, &maps[n->op], e);
}
