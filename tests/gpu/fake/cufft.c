/* A cuFFT without a GPU: transforms of real planes by their sums, on the streams of the fake libcuda.
 *
 * It is stricter than the real one: a plan has no memory of its own, and none runs before it has a stream and a
 * workspace, which is overwritten and overlaps nothing; input and output do not overlap; the inverse transform leaves
 * NANs in its input, and gives NANs for coefficients that are not those of real planes. */
#include "enqueue.h"

#include "nn/gpu/fft/api.h"

#include <complex.h>
#include <math.h>

#define DECLARE(result, name, parameters) FAKE_EXPORT result cufft##name parameters;
WL_CUFFT_FUNCTIONS(DECLARE)
#undef DECLARE

enum { PLANS = 4096, WORKSPACE = 4096, ALIGNMENT = 256 };

struct plan {
    bool made, own_memory, stream_set;
    int64_t h, w, batch;
    cufftType type;
    CUstream stream;
    void *workspace;
};

static struct plan *plans[PLANS];

struct run {
    struct plan plan;
    void *from, *to;
};

/* ---- transforms ---- */

static double complex root(int64_t i, int64_t n, int sign)
{
    return cexp(sign * 2 * M_PI * I * (double)(i % n) / (double)n);
}

/* One line of n numbers, `apart` apart: y = sum x e^(sign 2 pi i j k/n). */
static void line(double complex *x, int64_t n, int64_t apart, int sign)
{
    double complex *y = calloc((size_t)n, sizeof *y);
    for (int64_t k = 0; k < n; k++)
        for (int64_t j = 0; j < n; j++) y[k] += x[j * apart] * root(j * k, n, sign);
    for (int64_t k = 0; k < n; k++) x[k * apart] = y[k];
    free(y);
}

static void both_ways(const struct plan *p, double complex *x, int sign)
{
    for (int64_t r = 0; r < p->h; r++) line(x + r * p->w, p->w, 1, sign);
    for (int64_t c = 0; c < p->w; c++) line(x + c, p->h, p->w, sign);
}

static int64_t columns_of(const struct plan *p) { return p->w / 2 + 1; }

static void forward(void *of)
{
    const struct run *r = of;
    const struct plan *p = &r->plan;
    const int64_t points = p->h * p->w;
    double complex *x = calloc((size_t)points, sizeof *x);
    memset(p->workspace, 0xff, WORKSPACE);
    for (int64_t z = 0; z < p->batch; z++) {
        const float *from = (const float *)r->from + z * points;
        cufftComplex *to = (cufftComplex *)r->to + z * p->h * columns_of(p);
        for (int64_t i = 0; i < points; i++) x[i] = (double)from[i];
        both_ways(p, x, -1);
        for (int64_t i = 0; i < p->h * columns_of(p); i++) {
            const double complex v = x[i / columns_of(p) * p->w + i % columns_of(p)];
            to[i] = (cufftComplex) { (float)creal(v), (float)cimag(v) };
        }
    }
    free(x);
}

/* All columns of those that are there; false: a column that is its own mirror image is not that of real numbers. */
static bool mirrored(const struct plan *p, const cufftComplex *from, double complex *x)
{
    bool real = true;
    for (int64_t u = 0; u < p->h; u++)
        for (int64_t k = 0; k < columns_of(p); k++) {
            const cufftComplex at = from[u * columns_of(p) + k];
            const int64_t v = (p->h - u) % p->h, m = (p->w - k) % p->w;
            const double complex z = (double)at.x + (double)at.y * I;
            x[u * p->w + k] = z;
            if (m != k) {
                x[v * p->w + m] = conj(z);
                continue;
            }
            const cufftComplex other = from[v * columns_of(p) + k];
            real = real && fabsf(at.x - other.x) <= 1e-5f * (fabsf(at.x) + fabsf(other.x)) &&
                   fabsf(at.y + other.y) <= 1e-5f * (fabsf(at.y) + fabsf(other.y));
        }
    return real;
}

static void inverse(void *of)
{
    const struct run *r = of;
    const struct plan *p = &r->plan;
    const int64_t points = p->h * p->w;
    double complex *x = calloc((size_t)points, sizeof *x);
    memset(p->workspace, 0xff, WORKSPACE);
    for (int64_t z = 0; z < p->batch; z++) {
        cufftComplex *from = (cufftComplex *)r->from + z * p->h * columns_of(p);
        float *to = (float *)r->to + z * points;
        const bool real = mirrored(p, from, x);
        both_ways(p, x, 1);
        for (int64_t i = 0; i < points; i++) to[i] = real ? (float)creal(x[i]) : NAN;
        memset(from, 0xff, (size_t)(p->h * columns_of(p)) * sizeof *from);
    }
    free(x);
}

/* ---- the library ---- */

cufftResult cufftGetVersion(int *version)
{
    *version = 12000;
    return CUFFT_SUCCESS;
}

cufftResult cufftCreate(cufftHandle *out)
{
    for (int i = 0; i < PLANS; i++) {
        if (plans[i]) continue;
        plans[i] = calloc(1, sizeof **plans);
        plans[i]->own_memory = true;
        *out = i;
        return CUFFT_SUCCESS;
    }
    return CUFFT_ALLOC_FAILED;
}

static struct plan *plan_of(cufftHandle h) { return h >= 0 && h < PLANS ? plans[h] : NULL; }

cufftResult cufftDestroy(cufftHandle h)
{
    if (!plan_of(h)) return CUFFT_INVALID_PLAN;
    free(plans[h]);
    plans[h] = NULL;
    return CUFFT_SUCCESS;
}

/* Plans that were not destroyed when the library is closed are leaks to LeakSanitizer. */
__attribute__((destructor)) static void forget_plans(void) { memset(plans, 0, sizeof plans); }

cufftResult cufftSetAutoAllocation(cufftHandle h, int own)
{
    struct plan *p = plan_of(h);
    if (!p || p->made) return fake_refuse_call(CUFFT_INVALID_PLAN, "cufftSetAutoAllocation: no plan, or too late");
    p->own_memory = own;
    return CUFFT_SUCCESS;
}

cufftResult cufftMakePlanMany64(cufftHandle h, int rank, long long *n, long long *inembed, long long istride,
                                long long idist, long long *onembed, long long ostride, long long odist, cufftType type,
                                long long batch, size_t *workspace)
{
    struct plan *p = plan_of(h);
    (void)istride, (void)idist, (void)ostride, (void)odist; /* not read without embeddings */
    if (!p || p->made) return fake_refuse_call(CUFFT_INVALID_PLAN, "cufftMakePlanMany64: no plan, or made already");
    if (p->own_memory) return fake_refuse_call(CUFFT_NOT_SUPPORTED, "cufftMakePlanMany64: a plan with its own memory");
    if (rank != 2 || inembed || onembed || (type != CUFFT_R2C && type != CUFFT_C2R))
        return fake_refuse_call(CUFFT_NOT_SUPPORTED, "cufftMakePlanMany64: rank %d, type %d", rank, type);
    if (n[0] < 1 || n[1] < 1 || batch < 1) return fake_refuse_call(CUFFT_INVALID_SIZE, "cufftMakePlanMany64: a size");
    *p = (struct plan) { .made = true, .h = n[0], .w = n[1], .batch = batch, .type = type };
    *workspace = WORKSPACE;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetStream(cufftHandle h, CUstream stream)
{
    struct plan *p = plan_of(h);
    if (!p || !p->made) return fake_refuse_call(CUFFT_INVALID_PLAN, "cufftSetStream: no plan");
    p->stream = stream;
    p->stream_set = true;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle h, void *workspace)
{
    struct plan *p = plan_of(h);
    if (!p || !p->made || !fake_aligned(workspace, ALIGNMENT))
        return fake_refuse_call(CUFFT_INVALID_VALUE, "cufftSetWorkArea: no plan, or memory that is not aligned");
    p->workspace = workspace;
    return CUFFT_SUCCESS;
}

static cufftResult execute(cufftHandle h, cufftType type, void *from, void *to)
{
    const struct plan *p = plan_of(h);
    if (!p || !p->made || p->type != type) return fake_refuse_call(CUFFT_INVALID_PLAN, "cufftExec: another plan");
    if (!p->stream_set || !p->workspace)
        return fake_refuse_call(CUFFT_NO_WORKSPACE, "cufftExec: no workspace or stream");
    const size_t real = (size_t)(p->batch * p->h * p->w) * sizeof(float);
    const size_t half = (size_t)(p->batch * p->h * columns_of(p)) * sizeof(cufftComplex);
    const size_t in = type == CUFFT_R2C ? real : half, out = type == CUFFT_R2C ? half : real;
    if (!fake_aligned(from, 16) || !fake_aligned(to, 16) || fake_overlap(from, in, to, out) ||
        fake_overlap(from, in, p->workspace, WORKSPACE) || fake_overlap(to, out, p->workspace, WORKSPACE))
        return fake_refuse_call(CUFFT_INVALID_VALUE, "cufftExec: memory that overlaps or is not aligned");
    const struct run r = { .plan = *p, .from = from, .to = to };
    return fake_enqueue(p->stream, type == CUFFT_R2C ? forward : inverse, &r, sizeof r) ? CUFFT_EXEC_FAILED
                                                                                        : CUFFT_SUCCESS;
}

cufftResult cufftExecR2C(cufftHandle h, cufftReal *from, cufftComplex *to) { return execute(h, CUFFT_R2C, from, to); }

cufftResult cufftExecC2R(cufftHandle h, cufftComplex *from, cufftReal *to) { return execute(h, CUFFT_C2R, from, to); }
