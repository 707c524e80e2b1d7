/* Every operation of nn/cpu against nn/ref, forward, backward and evaluation, on random shapes: odd sizes, strides,
 * padding, channel counts that fill no block. Each case is a function of (operation, number); a failure prints the
 * line that runs it alone: test_ops OPERATION NUMBER [bf16]. */
#include "cases.h"

#include <math.h>
#include <stdio.h>

enum { CASES = 30 };

/* ---- a random case ---- */

static int64_t channels(struct draw *d)
{
    const int64_t v[] = { 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 35, 48 };
    return one_of(d, v, WL_COUNT(v));
}

static struct wl_tensor *image(struct wl_graph *g, struct draw *d, const char *name)
{
    struct wl_tensor *x =
        wl_input(g, name, WL_F32, WL_DIMS(1 + below(d, 3), channels(d), 1 + below(d, 11), 1 + below(d, 11)));
    wl_want_gradient(g, x);
    return x;
}

/* A window no larger than the padded image. */
static void window(struct draw *d, const struct wl_tensor *x, int64_t kernel[2], int64_t stride[2], int64_t pad[2])
{
    for (int i = 0; i < 2; i++) {
        int64_t size = wl_tensor_dims(x)->d[2 + i];
        kernel[i] = 1 + below(d, size + 1 < 7 ? size + 1 : 7);
        pad[i] = kernel[i] > 1 ? below(d, kernel[i] / 2 + 1) : 0;
        if (size + 2 * pad[i] < kernel[i]) kernel[i] = size + 2 * pad[i];
        if (pad[i] >= kernel[i]) pad[i] = kernel[i] - 1;
        stride[i] = 1 + below(d, 3);
    }
}

static struct wl_tensor *build_conv(struct wl_graph *g, struct draw *d, struct wl_tensor *x)
{
    struct wl_conv c = { .channels = channels(d), .bias = below(d, 2) };
    window(d, x, c.kernel, c.stride, c.pad);
    return wl_conv2d(g, "op", x, c);
}

static struct wl_tensor *build_norm(struct wl_graph *g, struct draw *d, struct wl_tensor *x)
{
    return wl_batch_norm(g, "op", x, (struct wl_batch_norm_opts) { .relu = below(d, 2), .eps = 1e-3 });
}

static struct wl_tensor *build_relu(struct wl_graph *g, struct draw *d, struct wl_tensor *x)
{
    (void)d;
    return wl_relu(g, "op", x);
}

static struct wl_tensor *build_add(struct wl_graph *g, struct draw *d, struct wl_tensor *x)
{
    struct wl_tensor *y = wl_input(g, "y", WL_F32, *wl_tensor_dims(x));
    wl_want_gradient(g, y);
    return below(d, 2) ? wl_add_relu(g, "op", x, y) : wl_add(g, "op", x, y);
}

/* Inputs of other channel counts, some before and some after x, and x twice at times. */
static struct wl_tensor *build_concat(struct wl_graph *g, struct draw *d, struct wl_tensor *x)
{
    struct wl_tensor *in[WL_MAX_INPUTS];
    int n = 0, most = 1 + (int)below(d, 5);
    for (; n < most; n++) {
        struct wl_dims like = *wl_tensor_dims(x);
        like.d[1] = channels(d);
        in[n] = wl_input(g, (const char *[]) { "a", "b", "c", "d", "e" }[n], WL_F32, like);
        wl_want_gradient(g, in[n]);
        if (below(d, 2))
            in[n] = wl_conv2d(g, (const char *[]) { "ca", "cb", "cc", "cd", "ce" }[n], in[n],
                              (struct wl_conv) { .channels = channels(d), .kernel = { 1, 1 } });
    }
    in[n++] = x;
    struct wl_tensor *swap = in[n - 1];
    int at = (int)below(d, n);
    in[n - 1] = in[at];
    in[at] = swap;
    if (below(d, 3) == 0) in[n++] = x;
    return wl_concat(g, "op", in, n);
}

static struct wl_pool pool(struct draw *d, const struct wl_tensor *x)
{
    struct wl_pool p = { .exclude_pad = below(d, 2) };
    if (below(d, 4)) window(d, x, p.kernel, p.stride, p.pad);
    return p;
}

static struct wl_tensor *build_max(struct wl_graph *g, struct draw *d, struct wl_tensor *x)
{
    return wl_max_pool(g, "op", x, pool(d, x));
}

static struct wl_tensor *build_avg(struct wl_graph *g, struct draw *d, struct wl_tensor *x)
{
    return wl_avg_pool(g, "op", x, pool(d, x));
}

static struct wl_tensor *build_dropout(struct wl_graph *g, struct draw *d, struct wl_tensor *x)
{
    return wl_dropout(g, "op", x, (double)below(d, 10) / 10);
}

static struct wl_tensor *build_linear(struct wl_graph *g, struct draw *d, struct wl_tensor *x)
{
    return wl_linear(g, "op", x, channels(d));
}

/* The error of f32 sums of some hundred terms is near 1e-7 relative, 1e-14 as NMSE; batch norm divides a small
 * difference of such sums. In bf16 both round to the nearest of 8 bits, so where a sum lies between two numbers it may
 * fall to either side: 2^-8 relative, 1.5e-5 as NMSE where all elements do. */
static const struct op {
    const char *name;
    struct wl_tensor *(*build)(struct wl_graph *g, struct draw *d, struct wl_tensor *x);
    double tolerance, tolerance_bf16; /* NMSE */
} ops[] = {
    { "conv2d", build_conv, 1e-11, 1.5e-5 },
    { "batch_norm", build_norm, 1e-10, 1.5e-5 },
    { "relu", build_relu, 0, 0 },
    { "add", build_add, 1e-13, 0 },
    { "max_pool", build_max, 1e-13, 0 },
    { "avg_pool", build_avg, 1e-11, 1.5e-5 },
    { "linear", build_linear, 1e-11, 1.5e-5 },
    { "dropout", build_dropout, 1e-13, 0 },
    { "concat", build_concat, 1e-11, 1.5e-5 },
};

/* ---- running it ---- */

struct twin {
    struct wl_graph *graph;
    struct wl_tensor *x, *y;
    struct wl_plan *plan;
};

static void build(struct twin *t, const struct op *op, uint64_t number, const char *backend, enum wl_dtype precision,
                  struct wl_arena *a)
{
    struct draw d = { 2, number ^ wl_hash_fnv1a(op->name), 0 };
    t->graph = wl_graph_new(a);
    t->x = image(t->graph, &d, "x");
    /* Every third case puts a convolution in front, so that the operation meets a blocked layout. */
    struct wl_tensor *in = t->x;
    if (number % 3 == 0) in = wl_conv2d(t->graph, "front", in, (struct wl_conv) { .channels = 20, .kernel = { 1, 1 } });
    t->y = op->build(t->graph, &d, in);
    struct wl_tensor *target = wl_input(t->graph, "target", WL_F32, *wl_tensor_dims(t->y));
    wl_mean_square(t->graph, "loss", t->y, target, (struct wl_loss) { .weight = 100 });
    struct wl_plan_opts o = { .backend = backend, .keep_values = true, .precision = precision, .slow_bf16 = true };
    struct wl_err e = { 0 };
    if (wl_plan_new(&t->plan, t->graph, &o, NULL, a, &e)) fail_msg("%s", e.msg);
    fill_inputs(t->plan, t->graph, number, 0);
    fill_state(t->plan, number);
}

static void compare_values(const char *what, const struct twin *cpu, const struct twin *ref, double tolerance,
                           const char *line, struct wl_arena *a)
{
    compare(what, read_tensor(wl_plan_value, cpu->plan, cpu->y, a), read_tensor(wl_plan_value, ref->plan, ref->y, a),
            tolerance, line);
}

static void run_case(const void *of, uint64_t number, enum wl_dtype precision)
{
    const struct op *op = of;
    struct wl_arena *a = wl_arena_new(NULL);
    struct twin cpu, ref;
    build(&cpu, op, number, "cpu", precision, a);
    build(&ref, op, number, "ref", precision, a);
    const char *line = repeat_line(a, "test_ops", op->name, number, precision, cpu.x, cpu.y);
    train(cpu.plan);
    train(ref.plan);
    /* A convolution in front adds its rounding; so does the loss's gradient, where output and target are close. */
    bool bf16 = precision == WL_BF16;
    double own = bf16 ? op->tolerance_bf16 : op->tolerance, front = bf16 ? 1.5e-5 : 1e-11;
    double exact = number % 3 == 0 ? fmax(own, front) : own, near = fmax(exact, bf16 ? 5e-5 : 1e-9);
    compare_values("output", &cpu, &ref, exact, line, a);
    compare("gradient of x", read_tensor(wl_plan_value_gradient, cpu.plan, cpu.x, a),
            read_tensor(wl_plan_value_gradient, ref.plan, ref.x, a), near, line);
    struct floats once = all_gradients(cpu.plan, a);
    compare("gradients of parameters", once, all_gradients(ref.plan, a), near, line);
    train(cpu.plan);
    same_bits("a second run", once, all_gradients(cpu.plan, a), line);

    struct wl_counts c = { 0 }, r = { 0 };
    assert_int_equal(wl_plan_eval(cpu.plan, &c, NULL), 0);
    assert_int_equal(wl_plan_eval(ref.plan, &r, NULL), 0);
    compare_values("output in evaluation", &cpu, &ref, near, line, a);
    assert_int_equal(c.samples, r.samples);
    same_bits("gradients after evaluation", once, all_gradients(cpu.plan, a), line);
    wl_arena_free(a);
}

int main(int argc, char **argv)
{
    struct wl_err e = { 0 };
    if (wl_backend_precision("cpu", WL_F32, false, &e)) {
        printf("SKIP: %s\n", e.msg);
        return 77;
    }
    const struct cases cases = { ops, WL_COUNT(ops), sizeof *ops, CASES, run_case, NULL, 0 };
    return cases_main(&cases, argc, argv);
}
