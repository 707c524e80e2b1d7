/* fft2 and inverse_fft2, each the other's backward pass: channels first, cuFFT, then the columns that are kept. */
#include "nn/gpu/fft/fft.h"
#include "nn/gpu/kernels/fourier.h"
#include "nn/gpu/layout.h"
#include "nn/graph/shapes.h"
#include "nn/lowering/step.h"

#include <math.h>

struct transform {
    struct wl_gpu_kernel planes, spectrum;
    const struct wl_gpu_fft_plan *plan;
    struct wl_fourier_size size;
    bool inverse, doubled; /* doubled: columns that are not their own mirror image count twice (nn/ref) */
};

/* Uses: the field and the spectrum, in the order of reading; planes, coefficients, cuFFT's workspace. */
enum { PLANES = 2, COEFFICIENTS, WORKSPACE };

static int64_t columns_of(const struct wl_fourier_size *v) { return v->w / 2 + 1; }

static unsigned tiles(int64_t n) { return (unsigned)((n + WL_GPU_FOURIER_TILE - 1) / WL_GPU_FOURIER_TILE); }

static int turn_planes(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct transform *t = s->context;
    const struct wl_fourier_size *v = &t->size;
    const struct wl_gpu_planes args = { .field = wl_use_at(s, r, t->inverse),
                                        .planes = wl_use_at(s, r, PLANES),
                                        .points = (int32_t)(v->h * v->w),
                                        .f = (int32_t)(v->blocks * v->size) };
    const struct wl_gpu_grid grid = {
        .x = tiles(args.points), .y = tiles(args.f), .z = (unsigned)v->n, .threads = 256
    };
    return WL_GPU_LAUNCH(&t->planes, &grid, &args, e);
}

/* cuFFT's inverse adds a column and its mirror image, which is the number doubled. */
static int turn_spectrum(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct transform *t = s->context;
    const struct wl_fourier_size *v = &t->size;
    const float scale = (float)(1 / sqrt((double)(v->h * v->w)));
    const struct wl_gpu_spectrum args = { .coefficients = wl_use_at(s, r, COEFFICIENTS),
                                          .s = wl_use_at(s, r, !t->inverse),
                                          .h = (int32_t)v->h,
                                          .w = (int32_t)v->w,
                                          .modes = (int32_t)v->modes,
                                          .f = (int32_t)(v->blocks * v->size),
                                          .size = (int32_t)v->size,
                                          .edge = scale,
                                          .inner = scale * (t->doubled ? 2 : 1) / (t->inverse ? 2 : 1) };
    const struct wl_gpu_grid grid = { .x = (unsigned)(v->n * v->h),
                                      .y = tiles(args.f),
                                      .z = tiles(t->inverse ? columns_of(v) : v->modes),
                                      .threads = 256 };
    return WL_GPU_LAUNCH(&t->spectrum, &grid, &args, e);
}

static int run_plan(const struct wl_step *s, const struct wl_run *r, int from, int to, struct wl_err *e)
{
    const struct transform *t = s->context;
    void *workspace = s->n_uses > WORKSPACE ? wl_use_at(s, r, WORKSPACE) : NULL;
    return wl_gpu_fft_run(t->plan, wl_use_at(s, r, from), wl_use_at(s, r, to), workspace, e);
}

static int transform_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    int rc = turn_planes(s, r, e);
    if (!rc) rc = run_plan(s, r, PLANES, COEFFICIENTS, e);
    return rc ? rc : turn_spectrum(s, r, e);
}

static int inverse_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    int rc = turn_spectrum(s, r, e);
    if (!rc) rc = run_plan(s, r, COEFFICIENTS, PLANES, e);
    return rc ? rc : turn_planes(s, r, e);
}

/* ---- lowering ---- */

static int check(const struct wl_fourier_size *v, struct wl_err *e)
{
    enum { MOST = 65535, MOST_POINTS = INT32_MAX };
    if (v->n <= MOST && v->h * v->w <= MOST_POINTS && v->n * v->h <= INT32_MAX) return 0;
    return wl_fail(e, WL_EINVAL, "%lld fields of %lld x %lld points; back-end gpu transforms at most %d of at most %d",
                   (long long)v->n, (long long)v->h, (long long)v->w, (int)MOST, (int)MOST_POINTS);
}

static int new_transform(struct wl_program *p, const struct wl_node *n, bool inverse, enum wl_dtype field,
                         struct transform **out, struct wl_err *e)
{
    struct transform *t = *out = wl_new(p->arena, struct transform);
    *t = (struct transform) { .size = wl_fourier_size(n), .inverse = inverse, .doubled = n->op == WL_OP_INVERSE_FFT2 };
    int rc = check(&t->size, e);
    if (!rc) rc = wl_gpu_kernel_of(wl_gpu_of(p), inverse ? "planes_to_field" : "field_to_planes", field, &t->planes, e);
    return rc ? rc : wl_gpu_kernel(wl_gpu_of(p), inverse ? "spectrum_put" : "spectrum_take", &t->spectrum, e);
}

static struct wl_buf *floats(struct wl_program *p, int64_t n)
{
    return wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(n));
}

static int emit(struct wl_program *p, const struct wl_node *n, struct transform *t, struct wl_buf *from,
                struct wl_buf *to, struct wl_err *e)
{
    const struct wl_fourier_size *v = &t->size;
    const int64_t planes = v->n * v->blocks * v->size;
    const bool back = t->inverse == (n->op == WL_OP_FFT2);
    size_t bytes = 0;
    int rc = wl_gpu_fft_plan(wl_gpu_of(p),
                             &(struct wl_gpu_fft_size) { .h = v->h, .w = v->w, .batch = planes, .inverse = t->inverse },
                             &t->plan, &bytes, e);
    if (rc) return rc;
    struct wl_buf *workspace = bytes ? floats(p, (int64_t)((bytes + sizeof(float) - 1) / sizeof(float))) : NULL;
    struct wl_step *s = wl_step_emit_uses(p, n, back ? "backward" : "forward", back ? WL_TRAIN : WL_TRAIN | WL_EVAL,
                                          t->inverse ? inverse_run : transform_run, WL_BUFS(from),
                                          WL_BUFS(to, floats(p, planes * v->h * v->w),
                                                  floats(p, 2 * planes * v->h * columns_of(v)), workspace));
    s->context = t;
    s->implementation = "cuFFT";
    return 0;
}

/* The spectrum of node n's field: its result, or the gradient of its input. */
static int to_spectrum(struct wl_program *p, const struct wl_node *n, struct wl_buf *field, struct wl_buf *to,
                       struct wl_err *e)
{
    struct transform *t;
    int rc = new_transform(p, n, false, field->dtype, &t, e);
    return rc ? rc : emit(p, n, t, field, to, e);
}

static int to_field(struct wl_program *p, const struct wl_node *n, struct wl_buf *spectrum, struct wl_buf *to,
                    struct wl_err *e)
{
    struct transform *t;
    int rc = new_transform(p, n, true, to->dtype, &t, e);
    return rc ? rc : emit(p, n, t, spectrum, to, e);
}

/* Of the graph's inputs f32 is read, as everywhere where an operation computes in f32. */
static int field_of(struct wl_program *p, const struct wl_node *n, struct wl_buf **out, struct wl_err *e)
{
    const struct wl_tensor *x = n->in[0];
    *out = p->input[x->id];
    return x->role == WL_ROLE_INPUT ? 0 : wl_gpu_plain_input(p, n, 0, out, e);
}

static int fft2_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x, *s = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    int rc = field_of(p, n, &x, e);
    if (rc) return rc;
    p->value[n->out->id] = s;
    return to_spectrum(p, n, x, s, e);
}

static int fft2_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *ds, *dx = wl_buf_value(p, &n->in[0]->dims);
    int rc = wl_lower_plain_gradient(p, n, n->out, &ds, e);
    if (!rc) rc = to_field(p, n, ds, dx, e);
    if (!rc) rc = wl_gpu_gradient_add(p, n, n->in[0], dx, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

/* The field is rounded as it is written. */
static int inverse_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *s, *x = wl_buf_value(p, &n->out->dims);
    int rc = wl_lower_plain_value(p, n, n->in[0], &s, e);
    if (rc) return rc;
    p->value[n->out->id] = x;
    return to_field(p, n, s, x, e);
}

static int inverse_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dx = p->gradient[n->out->id], *ds = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->in[0]->dims);
    int rc = to_spectrum(p, n, dx, ds, e);
    if (!rc) rc = wl_gpu_gradient_add(p, n, n->in[0], ds, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_gpu_op_fft2 = { fft2_forward, fft2_backward };
const struct wl_op_rules wl_gpu_op_inverse_fft2 = { inverse_forward, inverse_backward };
