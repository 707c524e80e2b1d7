#include "nn/cpu/simd_step.h"

#include <math.h>

/* Twiddles of each stage, radix 4 first: it takes the fewest operations. */
static struct wl_fft plan_fft(int64_t n, struct wl_arena *a)
{
    static const int radixes[] = { 4, 5, 3, 2 };
    struct wl_fft f = { .n = (int)n };
    int left = f.n;
    for (size_t i = 0; i < WL_COUNT(radixes); i++)
        while (left % radixes[i] == 0) {
            const int radix = radixes[i], q = left / radix;
            float *t = wl_new_array(a, float, (size_t)(2 * left));
            for (int j = 0; j < q; j++)
                for (int u = 0; u < radix; u++) {
                    const double angle = -2 * M_PI * j * u / left;
                    t[2 * (j * radix + u)] = (float)cos(angle);
                    t[2 * (j * radix + u) + 1] = (float)sin(angle);
                }
            f.radix[f.stages] = radix;
            f.twiddle[f.stages++] = t;
            left = q;
        }
    return f;
}

/* A step of a transform, whose adjoint is that of the inverse. */
struct transform {
    struct wl_fft2 plan;
    struct wl_fourier_size size;
    bool doubled; /* columns that have a mirror image count twice */
};

/* Of one thread: the spectra of the rows, and two rows or columns, as vectors of complex numbers. */
static size_t scratch_of_thread(const struct wl_fourier_size *v)
{
    const size_t most = (size_t)(v->h > v->w ? v->h : v->w);
    return (2 * (size_t)(v->modes * v->h) + 2 * most) * WL_FFT_CHANNELS * sizeof(float);
}

/* A task is up to WL_FFT_CHANNELS channels of one block of one field. */
struct task {
    int64_t x, s; /* the first point and mode */
    int channels;
};

static struct task task_of(const struct wl_fourier_size *v, int64_t i)
{
    const int64_t groups = (v->size + WL_FFT_CHANNELS - 1) / WL_FFT_CHANNELS, j = i % groups * WL_FFT_CHANNELS;
    const int64_t b = i / groups % v->blocks, n = i / groups / v->blocks, rest = v->size - j;
    return (struct task) {
        .x = (n * v->h * v->w * v->blocks + b) * v->size + j,
        .s = (n * v->h * v->modes * v->blocks + b) * 2 * v->size + j,
        .channels = rest < WL_FFT_CHANNELS ? (int)rest : WL_FFT_CHANNELS,
    };
}

static int64_t tasks(const struct wl_fourier_size *v)
{
    return v->n * v->blocks * ((v->size + WL_FFT_CHANNELS - 1) / WL_FFT_CHANNELS);
}

/* Uses: the field, the spectrum, in the order of reading; scratch. */
enum { SCRATCH = 2 };

static int fft2_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct transform *f = s->context;
    const struct wl_fourier_size *v = &f->size;
    const bool bf16 = s->uses[0].buf->dtype == WL_BF16;
    const char *x = wl_use_at(s, r, 0);
    float *spectrum = wl_use_at(s, r, 1);
    const int64_t step = v->blocks * v->size;
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < tasks(v); i++) {
        const struct task t = task_of(v, i);
        wl_simd()->fft2(&f->plan, f->doubled, x + (size_t)t.x * wl_dtype_bytes(s->uses[0].buf->dtype), bf16, step,
                        spectrum + t.s, spectrum + t.s + v->size, 2 * step, t.channels,
                        wl_simd_step_thread_scratch(s->uses[SCRATCH].buf));
    }
    return 0;
}

static int inverse_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct transform *f = s->context;
    const struct wl_fourier_size *v = &f->size;
    const bool bf16 = s->uses[1].buf->dtype == WL_BF16;
    const float *spectrum = wl_use_at(s, r, 0);
    char *x = wl_use_at(s, r, 1);
    const int64_t step = v->blocks * v->size;
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < tasks(v); i++) {
        const struct task t = task_of(v, i);
        wl_simd()->inverse_fft2(&f->plan, f->doubled, spectrum + t.s, spectrum + t.s + v->size, 2 * step,
                                x + (size_t)t.x * wl_dtype_bytes(s->uses[1].buf->dtype), bf16, step, t.channels,
                                wl_simd_step_thread_scratch(s->uses[SCRATCH].buf));
    }
    return 0;
}

/* ---- lowering ---- */

static void emit(struct wl_program *p, const struct wl_node *n, bool back, struct wl_buf *from, struct wl_buf *to)
{
    const bool inverse = back == (n->op == WL_OP_FFT2);
    struct transform *f = wl_new(p->arena, struct transform);
    const struct wl_fourier_size v = f->size = wl_fourier_size(n);
    f->plan = (struct wl_fft2) { .across = plan_fft(v.w, p->arena), .down = plan_fft(v.h, p->arena), .modes = v.modes };
    f->plan.scale = (float)(1 / sqrt((double)(v.h * v.w)));
    f->doubled = n->op == WL_OP_INVERSE_FFT2;
    struct wl_step *s = wl_simd_step_emit(p, n, back ? "backward" : "forward", back ? WL_TRAIN : WL_TRAIN | WL_EVAL,
                                          inverse ? inverse_run : fft2_run);
    s->context = f;
    wl_step_reads(p, s, from);
    wl_step_writes(p, s, to);
    wl_step_writes(p, s, wl_simd_step_scratch(p, scratch_of_thread(&v)));
}

/* Transforms read and write fields in the type of values; spectra are f32. Other layouts, and inputs, are copied. */
static bool direct(const struct wl_buf *b, const struct wl_tensor *t) { return !b->layout && t->role != WL_ROLE_INPUT; }

static int fft2_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_tensor *in = n->in[0];
    struct wl_buf *x = p->value[in->id];
    int rc = n->op == WL_OP_FFT2 && direct(x, in) ? 0 : wl_lower_plain_value(p, n, in, &x, e);
    if (rc) return rc;
    p->value[n->out->id] = wl_buf_result(p, n);
    emit(p, n, false, x, p->value[n->out->id]);
    return 0;
}

static int fft2_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const bool of_field = n->op == WL_OP_FFT2;
    const struct wl_buf *x = p->value[n->in[0]->id];
    struct wl_buf *dy = p->gradient[n->out->id];
    int rc = !of_field && !dy->layout ? 0 : wl_lower_plain_gradient(p, n, n->out, &dy, e);
    if (rc) return rc;
    struct wl_buf *dx = wl_buf_plain(p, WL_MEM_VALUE, of_field ? x->dtype : WL_F32, &n->in[0]->dims);
    emit(p, n, true, dy, dx);
    rc = wl_gradient_add_plain(p, n, n->in[0], dx, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_cpu_op_fft2 = { fft2_forward, fft2_backward };
const struct wl_op_rules wl_cpu_op_inverse_fft2 = { fft2_forward, fft2_backward };
