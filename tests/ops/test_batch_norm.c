/* Batch norm's kernels in each layout against nn/ref; the same bits for any number of threads; statistics far from
 * zero; and a sum that is computed with its norm against one that is not. */
#include "backend_compare.h"

#include "nn/cpu/batch_norm_kernels.h"
#include "nn/ref/ref.h"
#include "nn/threads.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SEED = 3 };

/* ---- values in a layout ---- */

enum layout { BLOCKS_OF_16, BLOCKS_OF_8, CHANNELS_LAST, PLAIN, LAYOUTS };

struct shape {
    int64_t n, c, area;
};

static struct wl_md_rows rows_of(struct shape s, enum layout layout, enum wl_dtype type)
{
    const int64_t lanes = layout == BLOCKS_OF_8 ? 8 : layout == PLAIN ? 1 : 16, blocks = (s.c + lanes - 1) / lanes;
    struct wl_md_rows r = { .type = type, .n = s.n, .channels = s.c, .area = s.area, .blocks = blocks };
    r.lanes = r.last_lanes = (int)lanes;
    r.block_stride = s.area * lanes;
    r.image_stride = blocks * r.block_stride;
    r.pixel_stride = lanes;
    if (layout != CHANNELS_LAST) return r;
    r.last_lanes = (int)((s.c - 1) % lanes) + 1;
    r.block_stride = lanes;
    r.image_stride = s.area * s.c;
    r.pixel_stride = s.c;
    return r;
}

static size_t elements(const struct wl_md_rows *r) { return (size_t)(r->n * r->image_stride); }

static int64_t offset_of(const struct wl_md_rows *r, int64_t i)
{
    const int64_t p = i % r->area, c = i / r->area % r->channels, n = i / r->area / r->channels;
    return n * r->image_stride + c / r->lanes * r->block_stride + p * r->pixel_stride + c % r->lanes;
}

static float rounded(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* v [N,C,area] laid out, with zeros as padding. */
static void *laid_out(const struct wl_md_rows *r, const float *v, struct wl_arena *a)
{
    const int64_t n = r->n * r->channels * r->area;
    uint16_t *halves = wl_new_array(a, uint16_t, elements(r));
    float *whole = wl_new_array(a, float, elements(r));
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &v[i], sizeof bits);
        whole[offset_of(r, i)] = v[i];
        halves[offset_of(r, i)] = (uint16_t)(bits >> 16);
    }
    return r->type == WL_BF16 ? (void *)halves : whole;
}

static struct floats read_back(const struct wl_md_rows *r, const void *from, struct wl_arena *a)
{
    struct floats f = { .n = (size_t)(r->n * r->channels * r->area) };
    f.v = wl_new_array(a, float, f.n);
    for (size_t i = 0; i < f.n; i++) {
        const int64_t at = offset_of(r, (int64_t)i);
        uint32_t bits = r->type == WL_BF16 ? (uint32_t)((const uint16_t *)from)[at] << 16 : 0;
        if (r->type == WL_BF16)
            memcpy(&f.v[i], &bits, sizeof bits);
        else
            f.v[i] = ((const float *)from)[at];
    }
    return f;
}

/* ---- both passes, by the kernels and by nn/ref ---- */

struct results {
    struct floats y, d, dx, mean, var, dgamma, dbeta;
};

struct subject {
    struct shape shape;
    enum wl_dtype type;
    bool relu, sum, two; /* two: parts of dy, where relu and sum */
    double offset;       /* of x */
    float *x, *z, *dy, *more, *gamma, *beta;
};

static float *numbers(const char *name, int64_t n, double mean, bool bf16, struct wl_arena *a)
{
    float *v = wl_new_array(a, float, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        v[i] = (float)(mean + wl_random_normal(SEED, wl_hash_fnv1a(name), (uint64_t)i));
        if (bf16) v[i] = rounded(v[i]);
    }
    return v;
}

static struct subject subject(struct subject s, struct wl_arena *a)
{
    const int64_t n = s.shape.n * s.shape.c * s.shape.area;
    const bool bf16 = s.type == WL_BF16;
    s.x = numbers("x", n, s.offset, bf16, a);
    s.z = numbers("z", n, 0, bf16, a);
    s.dy = numbers("dy", n, 0, bf16, a);
    s.more = numbers("more", n, 0, bf16, a);
    s.gamma = numbers("gamma", s.shape.c, 1, false, a);
    s.beta = numbers("beta", s.shape.c, 0.2, false, a);
    return s;
}

static struct floats vector(int64_t n, struct wl_arena *a)
{
    return (struct floats) { wl_new_array(a, float, (size_t)n), (size_t)n };
}

static struct results ours(const struct subject *s, enum layout layout, const struct wl_batch_norm_kernels *kernels,
                           struct wl_arena *a)
{
    const struct wl_md_rows r = rows_of(s->shape, layout, s->type);
    struct results o = { .mean = vector(s->shape.c, a), .var = vector(s->shape.c, a) };
    o.dgamma = vector(s->shape.c, a);
    o.dbeta = vector(s->shape.c, a);
    void *y = wl_new_array(a, float, elements(&r)), *d = laid_out(&r, s->dy, a), *dx = laid_out(&r, s->dy, a);
    struct wl_batch_norm_call c = { .rows = r,
                                    .kernels = kernels,
                                    .eps = 1e-3,
                                    .x = laid_out(&r, s->x, a),
                                    .gamma = s->gamma,
                                    .beta = s->beta,
                                    .mean = o.mean.v,
                                    .var = o.var.v,
                                    .scratch = wl_alloc(a, wl_batch_norm_scratch_bytes(&r, omp_get_max_threads()) + 1),
                                    .relu = s->relu,
                                    .z = s->sum ? laid_out(&r, s->z, a) : NULL,
                                    .y = y,
                                    .backward = !s->relu ? WL_BATCH_NORM_NO_RELU
                                                : s->sum ? WL_BATCH_NORM_RELU_FROM_Y
                                                         : WL_BATCH_NORM_RELU_FROM_X,
                                    .dgamma = o.dgamma.v,
                                    .dbeta = o.dbeta.v };
    wl_batch_norm_train(&c);
    o.y = read_back(&r, y, a);
    memset(y, 0, elements(&r) * wl_dtype_bytes(s->type));
    wl_batch_norm_eval(&c); /* with the same statistics it says the same */
    assert_memory_equal(o.y.v, read_back(&r, y, a).v, o.y.n * sizeof(float));
    c.d = d; /* in place where there is nothing to keep */
    c.dy = s->sum ? d : dx;
    c.dx = dx;
    if (s->two) c.more = laid_out(&r, s->more, a);
    wl_batch_norm_backward(&c);
    o.d = read_back(&r, d, a);
    o.dx = read_back(&r, dx, a);
    return o;
}

static struct results reference(const struct subject *s, struct wl_arena *a)
{
    const struct wl_channels ch = { s->shape.n, s->shape.c, s->shape.area };
    const int64_t n = ch.n * ch.c * ch.area;
    struct results o = { vector(n, a),    vector(n, a),    vector(n, a),   vector(ch.c, a),
                         vector(ch.c, a), vector(ch.c, a), vector(ch.c, a) };
    const bool bf16 = s->type == WL_BF16;
    wl_ref_mean_var(ch, s->x, o.mean.v, o.var.v);
    struct wl_ref_batch_norm b = { ch, 1e-3, s->relu && !s->sum, s->x, o.mean.v, o.var.v, s->gamma, s->beta, o.y.v };
    wl_ref_batch_norm(&b);
    for (int64_t i = 0; i < n; i++) {
        if (bf16) o.y.v[i] = rounded(o.y.v[i]);
        if (s->sum) o.y.v[i] += s->z[i];
        if (s->relu && o.y.v[i] < 0) o.y.v[i] = 0;
        if (bf16) o.y.v[i] = rounded(o.y.v[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        o.d.v[i] = s->two ? s->dy[i] + s->more[i] : s->dy[i];
        if (bf16) o.d.v[i] = rounded(o.d.v[i]);
    }
    if (s->relu) wl_ref_relu_backward(n, o.y.v, o.d.v, o.d.v);
    b.relu = false;
    wl_ref_batch_norm_backward(&(struct wl_ref_batch_norm_grad) { b, o.d.v, o.dx.v, o.dgamma.v, o.dbeta.v });
    return o;
}

static void close_to(const char *what, struct floats got, struct floats want, double tolerance, const char *where)
{
    double d = nmse(got, want);
    if (!(d <= tolerance)) fail_msg("%s: NMSE %.3g > %.3g (%s)", what, d, tolerance, where);
}

/* dx [n], then d: a distance of it is one beside d, since the dx of a single element is 0 but for rounding. */
static struct floats concatenated(struct floats dx, struct floats d, struct wl_arena *a)
{
    struct floats both = { wl_new_array(a, float, dx.n + d.n), dx.n + d.n };
    memcpy(both.v, dx.v, dx.n * sizeof(float));
    memcpy(both.v + dx.n, d.v, d.n * sizeof(float));
    return both;
}

/* bf16 results may be rounded to either of two neighbours: 2^-8 relative. */
static void compare(const struct subject *s, const struct results *got, const struct results *want, const char *where,
                    struct wl_arena *a)
{
    const double exact = 1e-12, value = s->type == WL_BF16 ? 1e-5 : exact;
    close_to("mean", got->mean, want->mean, exact, where);
    close_to("variance", got->var, want->var, exact, where);
    close_to("y", got->y, want->y, value, where);
    if (s->relu && s->sum) close_to("d", got->d, want->d, 0, where);
    close_to("dx", concatenated(got->dx, want->d, a), concatenated(want->dx, want->d, a), fmax(value, 1e-10), where);
    close_to("dgamma", got->dgamma, want->dgamma, 1e-10, where);
    close_to("dbeta", got->dbeta, want->dbeta, 1e-10, where);
}

static const struct shape shapes[] = { { 1, 1, 1 },    { 3, 1, 5 },   { 1, 16, 63 }, { 2, 17, 1 },
                                       { 3, 20, 130 }, { 2, 48, 66 }, { 5, 35, 7 },  { 17, 80, 64 } };

static void compare_layouts(const struct subject *s, struct wl_arena *a)
{
    const struct results want = reference(s, a);
    for (int layout = 0; layout < LAYOUTS; layout++)
        for (int fast = 0; fast < 2; fast++) {
            const struct wl_batch_norm_kernels *k = fast ? wl_batch_norm_avx512(s->type) : wl_batch_norm_plain(s->type);
            if (!k) continue;
            const char *where =
                wl_strf(a, "%s %s, layout %d, [%lld,%lld,%lld]%s%s", k->name, wl_dtype_name(s->type), layout,
                        (long long)s->shape.n, (long long)s->shape.c, (long long)s->shape.area, s->relu ? ", relu" : "",
                        s->two   ? ", sum, two parts"
                        : s->sum ? ", sum"
                                 : "");
            const struct results got = ours(s, (enum layout)layout, k, a);
            compare(s, &got, &want, where, a);
        }
}

static void test_kernels_equal_ref_in_every_layout(void **state)
{
    (void)state;
    for (size_t i = 0; i < WL_COUNT(shapes); i++)
        for (int flags = 0; flags < 16; flags++) {
            if (flags & 8 && (flags & 3) != 3) continue;
            struct wl_arena *a = wl_arena_new(NULL);
            const struct subject s = subject((struct subject) { .shape = shapes[i],
                                                                .type = flags & 4 ? WL_BF16 : WL_F32,
                                                                .relu = flags & 1,
                                                                .sum = flags & 2,
                                                                .two = flags & 8 },
                                             a);
            compare_layouts(&s, a);
            wl_arena_free(a);
        }
}

/* Blocks that one thread has by itself, and such as several share. */
static void test_threads_do_not_change_bits(void **state)
{
    (void)state;
    const int before = omp_get_max_threads();
    for (size_t i = 0; i < WL_COUNT(shapes); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        const struct subject s = subject((struct subject) { .shape = shapes[i], .type = WL_F32, .relu = true }, a);
        const struct wl_batch_norm_kernels *k =
            wl_batch_norm_avx512(WL_F32) ? wl_batch_norm_avx512(WL_F32) : wl_batch_norm_plain(WL_F32);
        omp_set_num_threads(1);
        const struct results one = ours(&s, BLOCKS_OF_16, k, a);
        for (int threads = 2; threads < 6; threads++) {
            omp_set_num_threads(threads);
            const struct results more = ours(&s, BLOCKS_OF_16, k, a);
            assert_memory_equal(one.dx.v, more.dx.v, one.dx.n * sizeof(float));
            assert_memory_equal(one.dgamma.v, more.dgamma.v, one.dgamma.n * sizeof(float));
            assert_memory_equal(one.var.v, more.var.v, one.var.n * sizeof(float));
        }
        wl_arena_free(a);
    }
    omp_set_num_threads(before);
}

/* A mean of 3000 deviations costs the variance what rounding of x has cost already, and no more. */
static void test_large_mean_costs_no_more_than_rounding(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct subject s = subject((struct subject) { .shape = { 4, 32, 900 }, .type = WL_F32, .offset = 3000 }, a);
    const struct results want = reference(&s, a);
    for (int fast = 0; fast < 2; fast++) {
        const struct wl_batch_norm_kernels *k = fast ? wl_batch_norm_avx512(WL_F32) : wl_batch_norm_plain(WL_F32);
        if (!k) continue;
        const struct results got = ours(&s, BLOCKS_OF_16, k, a);
        close_to("mean", got.mean, want.mean, 1e-14, k->name);
        close_to("variance", got.var, want.var, 1e-13, k->name);
    }
    wl_arena_free(a);
}

static void test_nan_stays(void **state)
{
    (void)state;
    for (int flags = 0; flags < 4; flags++) {
        struct wl_arena *a = wl_arena_new(NULL);
        const enum wl_dtype type = flags & 1 ? WL_BF16 : WL_F32;
        const struct wl_batch_norm_kernels *k = flags & 2 ? wl_batch_norm_avx512(type) : wl_batch_norm_plain(type);
        struct subject s = subject((struct subject) { .shape = { 2, 16, 9 }, .type = type, .relu = true }, a);
        s.x[5] = NAN; /* in channel 0 */
        if (k) {
            const struct results got = ours(&s, BLOCKS_OF_16, k, a);
            assert_true(isnan(got.y.v[0]) && isnan(got.var.v[0]) && !isnan(got.y.v[9]));
        }
        wl_arena_free(a);
    }
}

/* ---- a sum computed with its norm ---- */

/* Terms on either side, with and without a relu, and one that may be overwritten. */
static struct wl_graph *network(struct wl_arena *a)
{
    const struct wl_conv point = { .channels = 20, .kernel = { 1, 1 } };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "images", WL_F32, WL_DIMS(3, 3, 9, 8));
    struct wl_tensor *labels = wl_input(g, "labels", WL_I32, WL_DIMS(3));
    x = wl_conv2d(g, "front", x, point);
    struct wl_tensor *y = wl_batch_norm(g, "bn1", wl_conv2d(g, "conv1", x, point), (struct wl_batch_norm_opts) { 0 });
    x = wl_add_relu(g, "add1", y, x);
    y = wl_batch_norm(g, "bn2", wl_conv2d(g, "conv2", x, point), (struct wl_batch_norm_opts) { 0 });
    x = wl_add(g, "add2", x, y);
    y = wl_batch_norm(g, "bn3", wl_conv2d(g, "conv3", x, point), (struct wl_batch_norm_opts) { 0 });
    struct wl_tensor *z = wl_batch_norm(g, "bn4", wl_conv2d(g, "conv4", x, point), (struct wl_batch_norm_opts) { 0 });
    x = wl_add_relu(g, "add3", y, z);
    wl_cross_entropy(g, "loss", wl_linear(g, "head", x, 5), labels, (struct wl_loss) { 0 });
    return g;
}

static struct wl_plan *trained(bool keep_values, enum wl_dtype precision, struct wl_arena *a)
{
    struct wl_graph *g = network(a);
    struct wl_plan *p = NULL;
    struct wl_plan_opts o = { .seed = SEED, .precision = precision, .slow_bf16 = true, .keep_values = keep_values };
    struct wl_counts c = { 0 };
    struct wl_err e = { 0 };
    if (wl_plan_new(&p, g, &o, NULL, a, &e)) fail_msg("%s", e.msg);
    fill_inputs(p, g, SEED, 5);
    fill_state(p, SEED);
    if (wl_plan_train(p, true, true, &c, &e)) fail_msg("%s", e.msg);
    return p;
}

/* A plan that keeps all values computes each operation by itself: the same bits. */
static void test_fused_sum_has_the_same_bits(void **state)
{
    (void)state;
    for (int bf16 = 0; bf16 < 2; bf16++) {
        const enum wl_dtype precision = bf16 ? WL_BF16 : WL_F32;
        if (wl_backend_precision("cpu", precision, true, NULL)) continue;
        struct wl_arena *a = wl_arena_new(NULL);
        struct wl_plan *fused = trained(false, precision, a), *apart = trained(true, precision, a);
        int sums = 0;
        for (size_t i = 0; i < wl_plan_step_count(fused); i++)
            sums += wl_str_eq(wl_plan_step(fused, i, a).pass, "backward, add");
        assert_int_equal(sums, 3);
        const struct floats one = all_gradients(fused, a), other = all_gradients(apart, a);
        assert_memory_equal(one.v, other.v, one.n * sizeof(float));
        wl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_equal_ref_in_every_layout),
        cmocka_unit_test(test_threads_do_not_change_bits),
        cmocka_unit_test(test_large_mean_costs_no_more_than_rounding),
        cmocka_unit_test(test_nan_stays),
        cmocka_unit_test(test_fused_sum_has_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
