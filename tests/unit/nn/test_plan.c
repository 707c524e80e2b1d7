#include "nn/plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct wl_arena *a;

static int set_up(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wl_arena_free(a);
    return 0;
}

enum { BATCH = 3, CLASSES = 4 };

/* Two convolutions with batch norms, so that there are several buckets, and a head. */
static struct wl_graph *network(void)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "images", WL_F32, WL_DIMS(BATCH, 3, 8, 8));
    struct wl_tensor *labels = wl_input(g, "labels", WL_I32, WL_DIMS(BATCH));
    for (int i = 0; i < 2; i++) {
        wl_scope_push(g, "layer%d", i);
        x = wl_conv2d(g, "conv", x, (struct wl_conv) { .channels = 18, .kernel = { 3, 3 }, .pad = { 1, 1 } });
        x = wl_batch_norm(g, "bn", x, (struct wl_norm) { .relu = true });
        wl_scope_pop(g);
    }
    wl_cross_entropy(g, "loss", wl_linear(g, "fc", x, CLASSES), labels, (struct wl_loss) { 0 });
    return g;
}

static struct wl_plan *plan(struct wl_plan_opts o, struct wl_comm *comm)
{
    struct wl_plan *p = NULL;
    struct wl_err e = { 0 };
    struct wl_graph *g = network();
    if (wl_plan_new(&p, g, &o, comm, a, &e)) fail_msg("%s", e.msg);
    float *x = wl_plan_input(p, g->tensors[0]);
    for (uint64_t i = 0; i < BATCH * 3 * 64 && !o.dry; i++) x[i] = (float)wl_random_normal(5, 5, i);
    return p;
}

static int train(struct wl_plan *p, bool first, bool last, struct wl_err *e)
{
    struct wl_counts c = { 0 };
    return wl_plan_train(p, first, last, &c, e);
}

static float *state_of(struct wl_plan *p, const char *name, size_t *n)
{
    for (size_t i = 0; i < wl_plan_state_count(p); i++) {
        struct wl_state s = wl_plan_state(p, i);
        if (strcmp(s.name, name)) continue;
        float *v = wl_new_array(a, float, s.count);
        assert_int_equal(wl_plan_state_read(p, i, v, NULL), 0);
        *n = s.count;
        return v;
    }
    fail_msg("no state %s", name);
    return NULL;
}

/* ---- options and misuse ---- */

static void refuses(struct wl_plan_opts o, int code, const char *says)
{
    struct wl_plan *p;
    struct wl_err e = { 0 };
    assert_int_equal(wl_plan_new(&p, network(), &o, NULL, a, &e), code);
    if (!strstr(e.msg, says)) fail_msg("'%s' does not say '%s'", e.msg, says);
}

static void test_bad_options(void **state)
{
    (void)state;
    refuses((struct wl_plan_opts) { .backend = "cpuu" }, WL_EINVAL,
            "back-end 'cpuu' is not known; did you mean 'cpu'?");
    refuses((struct wl_plan_opts) { .threads = -1 }, WL_EINVAL, "threads is -1");
    refuses((struct wl_plan_opts) { .micro_batches = -1 }, WL_EINVAL, "micro-batches is -1");
    refuses((struct wl_plan_opts) { .optim.momentum = 1 }, WL_EINVAL, "momentum is 1");
    refuses((struct wl_plan_opts) { .optim.weight_decay = NAN }, WL_EINVAL, "weight decay is nan");
    refuses((struct wl_plan_opts) { .optim.kind = "adamm" }, WL_EINVAL, "optimiser 'adamm' is not known");
}

static void test_without_loss(void **state)
{
    (void)state;
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(1, 4));
    struct wl_tensor *y = wl_relu(g, "relu", x);
    struct wl_plan *p;
    struct wl_err e = { 0 };
    assert_int_equal(wl_plan_new(&p, g, &(struct wl_plan_opts) { 0 }, NULL, a, &e), WL_EINVAL);
    assert_string_equal(e.msg, "the graph has no loss: it can only be evaluated");
    struct wl_plan_opts o = { .eval_only = true, .keep_values = true };
    assert_int_equal(wl_plan_new(&p, g, &o, NULL, a, &e), 0);
    memcpy(wl_plan_input(p, x), (const float[]) { -1, 2, -3, 4 }, 4 * sizeof(float));
    struct wl_counts c = { 0 };
    float got[4];
    assert_int_equal(wl_plan_eval(p, &c, &e), 0);
    assert_int_equal(wl_plan_value(p, y, got, &e), 0);
    assert_memory_equal(got, ((const float[]) { 0, 2, 0, 4 }), sizeof got);
    assert_int_equal(wl_plan_value_gradient(p, y, got, &e), WL_ENOENT);
}

/* A batch that no machine holds is refused when the plan is made. */
static void test_too_large(void **state)
{
    (void)state;
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS((int64_t)1 << 24, 64, 112, 112));
    wl_mean_square(g, "loss", wl_relu(g, "relu", x), wl_input(g, "t", WL_F32, *wl_tensor_dims(x)),
                   (struct wl_loss) { 0 });
    struct wl_plan *p;
    struct wl_err e = { 0 };
    assert_int_equal(wl_plan_new(&p, g, &(struct wl_plan_opts) { .backend = "ref" }, NULL, a, &e), WL_ENOMEM);
    assert_non_null(strstr(e.msg, "no memory: the plan needs "));
    assert_non_null(strstr(e.msg, "of them for activations"));
}

static void test_wrong_order(void **state)
{
    (void)state;
    struct wl_err e = { 0 };
    struct wl_plan *p = plan((struct wl_plan_opts) { .micro_batches = 2 }, NULL);
    assert_int_equal(wl_plan_update(p, 0.1, &e), WL_EINVAL);
    assert_int_equal(train(p, false, true, &e), WL_EINVAL);
    assert_int_equal(train(p, true, false, &e), 0);
    assert_int_equal(train(p, false, false, &e), 0);
    assert_int_equal(train(p, false, true, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "the plan was made for 2 micro-batches a step"));

    p = plan((struct wl_plan_opts) { .eval_only = true }, NULL);
    assert_int_equal(train(p, true, true, &e), WL_EINVAL);
    struct wl_counts c = { 0 };
    assert_int_equal(wl_plan_eval(p, &c, &e), 0);
    assert_int_equal(c.samples, BATCH);
    assert_int_equal(wl_plan_gradient_read(p, 0, NULL, &e), WL_ENOENT);
    assert_true(wl_plan_info(p).gradient_bytes == 0 && wl_plan_info(p).optim_bytes == 0);
}

static void test_bad_label(void **state)
{
    (void)state;
    struct wl_plan *p = plan((struct wl_plan_opts) { 0 }, NULL);
    int32_t *labels = wl_plan_input(p, p->program.graph->tensors[1]);
    labels[2] = CLASSES;
    struct wl_err e = { 0 };
    assert_int_equal(train(p, true, true, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "loss (forward): label 4 of sample 2 is beyond the 4 classes"));
    labels[2] = -1;
    assert_int_equal(train(p, true, true, &e), 0);
}

static void test_backends(void **state)
{
    (void)state;
    size_t n = 0;
    for (; wl_backend_row(n); n++) {
        const struct wl_backend *b = wl_backends[n];
        assert_non_null(b->row.name);
        if (b->row.unavailable) continue;
        assert_non_null(b->library);
        assert_non_null(b->sum);
        assert_non_null(b->reorder);
        assert_true(!b->layout_name == !b->read && !b->read == !b->write);
        for (int op = 0; op < WL_OP_COUNT; op++) {
            const bool constant = op == WL_OP_SPHERICAL_BASIS || op == WL_OP_ANGULAR_BASIS; /* of inputs alone */
            assert_true(b->rules[op].forward && (b->rules[op].backward || constant));
        }
    }
    assert_true(n >= 2);
}

/* ---- parameters ---- */

/* He's normal for convolutions, U(+-1/sqrt(F)) for the head, the same for each back-end and known by name and seed. */
static void test_first_values(void **state)
{
    (void)state;
    size_t n;
    struct wl_plan *p = plan((struct wl_plan_opts) { .seed = 9 }, NULL);
    float *w = state_of(p, "layer1.conv.weight", &n);
    assert_int_equal(n, 18 * 18 * 9);
    double sum = 0, squares = 0, deviation = sqrt(2.0 / (18 * 9));
    for (size_t i = 0; i < n; i++) {
        sum += (double)w[i];
        squares += (double)w[i] * (double)w[i];
    }
    assert_true(fabs(sum / (double)n) < 4 * deviation / sqrt((double)n));
    assert_true(fabs(squares / (double)n / (deviation * deviation) - 1) < 4 * sqrt(2.0 / (double)n));
    assert_true(w[100] == (float)(deviation * wl_random_normal(9, wl_hash_text("layer1.conv.weight"), 100)));
    float *ref = state_of(plan((struct wl_plan_opts) { .seed = 9, .backend = "ref" }, NULL), "layer1.conv.weight", &n);
    assert_memory_equal(w, ref, n * sizeof *w);
    float *other = state_of(plan((struct wl_plan_opts) { .seed = 10 }, NULL), "layer1.conv.weight", &n);
    assert_true(memcmp(w, other, n * sizeof *w));
    float *fc = state_of(p, "fc.weight", &n), bound = 1 / sqrtf(18 * 64), most = 0;
    for (size_t i = 0; i < n; i++) most = fmaxf(most, fabsf(fc[i]));
    assert_true(most <= bound && most > 0.98f * bound);
}

/* What is written comes back bit for bit, padded layouts included, and leaves no trace in other states. */
static void test_state_round_trip(void **state)
{
    (void)state;
    struct wl_plan *p = plan((struct wl_plan_opts) { 0 }, NULL);
    size_t count = wl_plan_state_count(p);
    assert_int_equal(count, 2 * (2 + 2 * 2 + 2) + 2 * 2); /* conv.weight, bn.{weight,bias}, fc.{weight,bias} twice */
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++) {
            struct wl_state s = wl_plan_state(p, i);
            assert_true(s.count == (size_t)wl_dims_count(&s.dims));
            float *want = wl_new_array(a, float, s.count), *got = wl_new_array(a, float, s.count);
            for (size_t j = 0; j < s.count; j++) want[j] = (float)wl_random_normal(1, wl_hash_text(s.name), j);
            if (pass == 0) assert_int_equal(wl_plan_state_write(p, i, want, NULL), 0);
            assert_int_equal(wl_plan_state_read(p, i, got, NULL), 0);
            assert_memory_equal(got, want, s.count * sizeof *got);
        }
}

static void test_decay_of_weights_only(void **state)
{
    (void)state;
    size_t n;
    struct wl_plan_opts o = { .optim = { .weight_decay = 0.5, .decay_weights_only = true } };
    for (int pass = 0; pass < 2; pass++) {
        struct wl_plan *p = plan(o, NULL);
        assert_int_equal(train(p, true, true, NULL), 0);
        memset(p->gradient, 0, p->param_floats * sizeof(float));
        float *w = state_of(p, "layer0.conv.weight", &n), gamma = *state_of(p, "layer0.bn.weight", &n);
        assert_int_equal(wl_plan_update(p, 1, NULL), 0);
        float *w2 = state_of(p, "layer0.conv.weight", &n), gamma2 = *state_of(p, "layer0.bn.weight", &n);
        for (size_t i = 0; i < n; i++) assert_true(w2[i] == w[i] * 0.5f);
        assert_true(gamma2 == (pass ? 0.5f : 1) * gamma);
        o.optim.decay_weights_only = false;
    }
}

/* ---- running statistics ---- */

/* One update moves them by a tenth towards the mean of the micro-batches, with the unbiased variance. */
static void test_running_statistics(void **state)
{
    (void)state;
    struct wl_plan *p = plan((struct wl_plan_opts) { .backend = "ref", .micro_batches = 2 }, NULL);
    float *x = wl_plan_input(p, p->program.graph->tensors[0]);
    assert_int_equal(train(p, true, false, NULL), 0);
    const float *w = p->program.value[2]->at; /* [18,3,3,3] */
    double mean = 0;
    for (int64_t n = 0; n < BATCH; n++)
        for (int64_t y = 0; y < 8; y++)
            for (int64_t z = 0; z < 8; z++)
                for (int64_t c = 0; c < 3; c++)
                    for (int64_t i = 0; i < 9; i++) {
                        int64_t u = y + i / 3 - 1, v = z + i % 3 - 1;
                        if (u < 0 || v < 0 || u > 7 || v > 7) continue;
                        mean += (double)(x[((n * 3 + c) * 8 + u) * 8 + v] * w[c * 9 + i]);
                    }
    mean /= BATCH * 64;
    for (int i = 0; i < BATCH * 3 * 64; i++) x[i] *= 3; /* the second micro-batch has three times the mean */
    assert_int_equal(train(p, false, true, NULL), 0);
    size_t n;
    assert_true(*state_of(p, "layer0.bn.running_mean", &n) == 0);
    assert_int_equal(wl_plan_update(p, 0, NULL), 0);
    assert_true(fabs((double)*state_of(p, "layer0.bn.running_mean", &n) - 0.1 * 2 * mean) < 1e-6);
    /* Variance v of the first, 9 v of the second: 1 + .1 (5 v' - 1) with v' = v N/(N-1). */
    const float *moment = p->program.gradient[p->program.graph->nodes[1]->stat[1]->id]->at;
    double var = (double)moment[0] / 10;
    assert_true(fabs((double)*state_of(p, "layer0.bn.running_var", &n) - (0.9 + 0.1 * 5 * var)) < 1e-5);
}

/* ---- buckets ---- */

/* A communicator of two equal ranks that notes what it is given. */
struct noted {
    struct wl_comm comm;
    const float *from[64];
    size_t n[64];
    int calls;
};

static int doubled(struct wl_comm *c, float *buf, size_t n, struct wl_err *e)
{
    (void)e;
    struct noted *t = (struct noted *)c;
    t->from[t->calls] = buf;
    t->n[t->calls++] = n;
    for (size_t i = 0; i < n; i++) buf[i] *= 2;
    return 0;
}

static int doubled_f64(struct wl_comm *c, double *buf, size_t n, struct wl_err *e)
{
    (void)c;
    (void)e;
    for (size_t i = 0; i < n; i++) buf[i] *= 2;
    return 0;
}

static int broadcast_own(struct wl_comm *c, void *buf, size_t bytes, int root, struct wl_err *e)
{
    (void)c;
    (void)buf;
    (void)bytes;
    (void)root;
    (void)e;
    return 0;
}

static int nothing(struct wl_comm *c, struct wl_err *e)
{
    (void)c;
    (void)e;
    return 0;
}

static const struct wl_comm_ops noting = { .name = "noting",
                                           .all_reduce_sum = doubled,
                                           .reduce_start = doubled,
                                           .reduce_poll = nothing,
                                           .reduce_finish = nothing,
                                           .all_reduce_sum_f64 = doubled_f64,
                                           .broadcast = broadcast_own };

/* Rank 0 of another kind: its fingerprint is not ours. */
static int broadcast_other(struct wl_comm *c, void *buf, size_t bytes, int root, struct wl_err *e)
{
    (void)c;
    (void)root;
    (void)e;
    if (bytes == sizeof(uint64_t)) memset(buf, 0x5a, bytes);
    return 0;
}

static void test_ranks_must_start_alike(void **state)
{
    (void)state;
    const struct wl_comm_ops other = { .all_reduce_sum_f64 = doubled_f64, .broadcast = broadcast_other };
    struct wl_comm comm = { .ops = &other, .size = 2, .arena = a };
    struct wl_plan *p;
    struct wl_err e = { 0 };
    assert_int_equal(wl_plan_new(&p, network(), &(struct wl_plan_opts) { 0 }, &comm, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "the parameters differ from those of rank 0"));
}

/* Each gradient is reduced once, in order, behind the last micro-batch only; the update then divides by the ranks. */
static void test_buckets(void **state)
{
    (void)state;
    struct noted t = { .comm = { .ops = &noting, .size = 2, .arena = a } };
    struct wl_plan *alone = plan((struct wl_plan_opts) { .bucket_bytes = 4096, .micro_batches = 2 }, NULL);
    struct wl_plan *p = plan((struct wl_plan_opts) { .bucket_bytes = 4096, .micro_batches = 2 }, &t.comm);
    assert_int_equal(train(p, true, false, NULL) | train(alone, true, false, NULL), 0);
    assert_int_equal(t.calls, 0);
    assert_int_equal(train(p, false, true, NULL) | train(alone, false, true, NULL), 0);
    assert_int_equal(t.calls, wl_plan_info(p).buckets);
    assert_int_equal(t.calls, (p->param_floats * sizeof(float) + 4095) / 4096); /* whatever the parameters' borders */
    size_t at = 0;
    for (int i = 0; i < t.calls; i++) {
        assert_ptr_equal(t.from[i], p->gradient + at);
        assert_true(i + 1 == t.calls || t.n[i] * sizeof(float) == 4096);
        at += t.n[i];
    }
    assert_int_equal(at, p->param_floats);
    assert_int_equal(p->buckets[0].ready < p->buckets[t.calls - 1].ready, 1);
    for (size_t i = 0; i < at; i++) assert_true(p->gradient[i] == 2 * alone->gradient[i]);
    assert_int_equal(wl_plan_update(p, 0.1, NULL) | wl_plan_update(alone, 0.1, NULL), 0);
    assert_memory_equal(p->param, alone->param, p->param_floats * sizeof(float));

    t.calls = 0;
    assert_int_equal(wl_plan_average_statistics(p, NULL), 0);
    assert_int_equal(t.calls, 1);
    assert_memory_equal(p->statistic, alone->statistic, p->statistic_floats * sizeof(float));
}

static void buckets_wait(const struct wl_plan *p)
{
    for (size_t i = 0; i < p->program.n_steps; i++)
        for (int k = 0; k < p->program.steps[i]->n_uses; k++) {
            const struct wl_use *u = &p->program.steps[i]->uses[k];
            if (u->buf->class != WL_MEM_GRADIENT) continue;
            size_t at = u->buf->offset / sizeof(float), end = at + u->buf->bytes / sizeof(float);
            for (size_t b = 0; b < p->n_buckets; b++)
                if (p->buckets[b].from < end && at < p->buckets[b].from + p->buckets[b].n)
                    assert_true((int)i <= p->buckets[b].ready);
        }
}

/* A bucket is not handed out before the last step that writes into it. */
static void test_buckets_wait(void **state)
{
    (void)state;
    struct noted t = { .comm = { .ops = &noting, .size = 2, .arena = a } };
    buckets_wait(plan((struct wl_plan_opts) { .bucket_bytes = 4096 }, &t.comm));
}

/* Nor before the first operation that reads a shared parameter, whose gradient comes last. */
static void test_buckets_wait_for_shared(void **state)
{
    (void)state;
    struct noted t = { .comm = { .ops = &noting, .size = 2, .arena = a } };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *target = wl_input(g, "target", WL_F32, WL_DIMS(BATCH, 40)), *x = target;
    for (int i = 0; i < 2; i++) {
        if (i) wl_scope_again(g, "again");
        for (int k = 0; k < 3; k++) x = wl_linear(g, wl_strf(a, "fc%d", k), x, 40);
        wl_mean_square(g, "loss", x, target, (struct wl_loss) { 0 });
        if (i) wl_scope_pop(g);
    }
    struct wl_plan *p;
    assert_int_equal(wl_plan_new(&p, g, &(struct wl_plan_opts) { .bucket_bytes = 4096 }, &t.comm, a, NULL), 0);
    buckets_wait(p);
    assert_string_equal(p->program.steps[p->buckets[0].ready]->node->name, "fc2");
    assert_int_equal(wl_plan_info(p).parameters, 3 * (40 * 40 + 40));
    assert_int_equal(p->n_params, 6);
    assert_int_equal(p->n_states, 12);
}

/* Nothing behind the forward step of the loss runs in evaluation: no copy for the backward pass, no gradient. */
static void test_evaluation_ends_at_the_loss(void **state)
{
    (void)state;
    struct wl_plan *p = plan((struct wl_plan_opts) { 0 }, NULL);
    bool behind = false;
    int eval = 0, train = 0;
    for (size_t i = 0; i < p->program.n_steps; i++) {
        const struct wl_step *s = p->program.steps[i];
        if (behind) assert_int_equal(s->when, WL_TRAIN);
        behind = behind || (s->node->op == WL_OP_CROSS_ENTROPY && !strcmp(s->what, "forward"));
        eval += (s->when & WL_EVAL) != 0;
        train += (s->when & WL_TRAIN) != 0;
    }
    assert_true(behind && eval < train);
}

/* A network whose outputs are values that others would overwrite, and one that no loss needs. */
struct with_outputs {
    struct wl_graph *graph;
    struct wl_tensor *images, *conv, *logits, *aside;
};

static struct with_outputs with_outputs(bool declared)
{
    struct with_outputs w = { .graph = wl_graph_new(a) };
    struct wl_graph *g = w.graph;
    w.images = wl_input(g, "images", WL_F32, WL_DIMS(BATCH, 3, 8, 8));
    struct wl_tensor *labels = wl_input(g, "labels", WL_I32, WL_DIMS(BATCH));
    w.conv = wl_conv2d(g, "conv", w.images, (struct wl_conv) { .channels = 18, .kernel = { 3, 3 }, .bias = true });
    struct wl_tensor *x = wl_relu(g, "relu", w.conv);
    w.aside = wl_linear(g, "aside", x, 2);
    w.logits = wl_linear(g, "fc", x, CLASSES);
    wl_cross_entropy(g, "loss", w.logits, labels, (struct wl_loss) { 0 });
    wl_cross_entropy(g, "aux", w.aside, labels, (struct wl_loss) { .weight = 0.1, .auxiliary = true });
    struct wl_tensor *const outputs[] = { w.conv, w.aside, w.logits };
    for (size_t i = 0; declared && i < WL_COUNT(outputs); i++) wl_output(g, outputs[i]);
    return w;
}

static struct wl_plan *plan_of(const struct with_outputs *w, struct wl_plan_opts o)
{
    struct wl_plan *p = NULL;
    struct wl_err e = { 0 };
    if (wl_plan_new(&p, w->graph, &o, NULL, a, &e)) fail_msg("%s", e.msg);
    float *x = wl_plan_input(p, w->images);
    for (uint64_t i = 0; i < BATCH * 3 * 64; i++) x[i] = (float)wl_random_normal(5, 5, i);
    return p;
}

/* What is read of an output is what a plan that keeps every value holds of it, with every back-end and precision; it
 * stays through training, which takes no step for it. */
static void test_outputs(void **state)
{
    (void)state;
    static const char *const backends[] = { "cpu", "ref" };
    for (int variant = 0; variant < 4; variant++) {
        struct wl_plan_opts o = { .backend = backends[variant / 2],
                                  .precision = variant % 2 ? WL_BF16 : WL_F32,
                                  .slow_bf16 = true };
        if (wl_backend_precision(o.backend, o.precision, true, NULL)) continue;
        struct with_outputs kept = with_outputs(false), read = with_outputs(true);
        struct wl_plan *q = plan_of(&read, o);
        o.keep_values = true;
        struct wl_plan *p = plan_of(&kept, o);
        struct wl_counts c = { 0 };
        assert_int_equal(wl_plan_eval(p, &c, NULL), 0);
        assert_int_equal(wl_plan_eval(q, &c, NULL), 0);
        assert_int_equal(train(q, true, true, NULL), 0);
        struct wl_tensor *const from[] = { kept.conv, kept.logits }, *const to[] = { read.conv, read.logits };
        for (size_t i = 0; i < WL_COUNT(to); i++) {
            size_t n = (size_t)wl_dims_count(wl_tensor_dims(to[i]));
            float *want = wl_new_array(a, float, n);
            const float *has = wl_plan_output(q, to[i]);
            assert_int_equal(wl_plan_value(p, from[i], want, NULL), 0);
            for (size_t k = 0; k < n; k++)
                if (!(fabsf(has[k] - want[k]) <= (variant % 2 ? 2e-2f : 1e-5f) * (1 + fabsf(want[k]))))
                    fail_msg("variant %d, %s[%zu] = %g, want %g", variant, wl_tensor_name(to[i]), k, has[k], want[k]);
        }
        assert_true(wl_plan_output(q, read.aside)[0] != 0);
        for (size_t i = 0; i < q->program.n_steps; i++)
            for (int k = 0; k < q->program.steps[i]->n_uses; k++)
                if (q->program.steps[i]->uses[k].buf->class == WL_MEM_OUTPUT)
                    assert_int_equal(q->program.steps[i]->when, WL_EVAL);
        assert_true(wl_plan_info(q).output_bytes > 0);
    }
}

static void test_odd_outputs(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct wl_err e = { 0 };
        struct wl_graph *g = network();
        wl_output(g, which ? g->nodes[g->n_nodes - 1]->out : g->tensors[0]);
        assert_int_equal(wl_graph_check(g, &e), WL_EINVAL);
        assert_non_null(strstr(e.msg, "an output is the result of an operation that is no loss"));
    }
}

static void test_info(void **state)
{
    (void)state;
    struct wl_plan_info f = wl_plan_info(plan((struct wl_plan_opts) { .threads = 1 }, NULL));
    assert_int_equal(f.threads, 1);
    assert_int_equal(f.batch, BATCH);
    struct wl_plan_info parts =
        wl_plan_info(plan((struct wl_plan_opts) { .threads = 1, .batch = 1, .dry = true }, NULL));
    assert_true(parts.batch == 1 && fabs(parts.forward_flops - BATCH * f.forward_flops) < 1);
    assert_int_equal(f.parameters, 18 * 27 + 18 * 18 * 9 + 4 * 18 + 18 * 64 * CLASSES + CLASSES);
    double conv0 = 2.0 * 18 * 64 * 27, conv1 = 2.0 * 18 * 64 * 18 * 9, fc = 2.0 * 18 * 64 * CLASSES;
    assert_true(fabs(f.forward_flops - (conv0 + conv1 + fc)) < 1);
    assert_true(fabs(f.train_flops - (2 * conv0 + 3 * (conv1 + fc))) < 1);
    assert_true(f.value_bytes > 0 && f.value_bytes < f.unshared_bytes);
    assert_true(f.live_bytes > 0 && f.live_bytes <= f.value_bytes);
    assert_true(f.in_place > 0 && f.in_place < f.steps && f.in_place_bytes > 0);
    assert_true(f.total_bytes ==
                f.param_bytes + f.gradient_bytes + f.optim_bytes + f.statistic_bytes + f.input_bytes + f.value_bytes);
}

/* The steps say what the totals say; a dry plan has the same ones and cannot run. */
static void test_steps_explain_the_plan(void **state)
{
    (void)state;
    struct wl_plan *p = plan((struct wl_plan_opts) { 0 }, NULL),
                   *dry = plan((struct wl_plan_opts) { .dry = true }, NULL);
    struct wl_plan_info f = wl_plan_info(p), d = wl_plan_info(dry);
    assert_int_equal(wl_plan_step_count(p), f.steps);
    assert_true(d.steps == f.steps && d.total_bytes == f.total_bytes && d.parameters == f.parameters);
    double train = 0, forward = 0;
    for (size_t i = 0; i < wl_plan_step_count(p); i++) {
        struct wl_plan_step s = wl_plan_step(p, i, a);
        assert_true(s.training || s.evaluation);
        assert_true(s.name && s.pass && s.implementation && s.n_buffers > 0);
        for (size_t k = 0; k < s.n_buffers; k++) assert_true(s.buffers[k].layout && s.buffers[k].memory);
        if (s.training) train += s.flops;
        if (s.evaluation) forward += s.flops;
        assert_string_equal(s.implementation, wl_plan_step(dry, i, a).implementation);
    }
    assert_true(fabs(train - f.train_flops) < 1 && fabs(forward - f.forward_flops) < 1);
    size_t gradients = 0;
    for (int i = 0; i < f.buckets; i++) gradients += wl_plan_bucket(p, (size_t)i).bytes;
    assert_true(gradients == f.gradient_bytes);

    struct wl_counts c = { 0 };
    struct wl_err e = { 0 };
    assert_int_equal(wl_plan_train(dry, true, true, &c, &e), WL_EINVAL);
    assert_int_equal(wl_plan_eval(dry, &c, &e), WL_EINVAL);
}

/* An auxiliary head is trained and not evaluated: its loss is part of the one and not of the other. */
static void test_auxiliary_loss(void **state)
{
    (void)state;
    double loss[2][2]; /* with the auxiliary head; of training, of evaluation */
    for (int with = 0; with < 2; with++) {
        struct wl_graph *g = wl_graph_new(a);
        struct wl_tensor *x = wl_input(g, "images", WL_F32, WL_DIMS(BATCH, 3, 8, 8));
        struct wl_tensor *labels = wl_input(g, "labels", WL_I32, WL_DIMS(BATCH));
        struct wl_plan *p;
        struct wl_tensor *y = wl_conv2d(g, "conv", x, (struct wl_conv) { .channels = 18, .kernel = { 3, 3 } });
        if (with) {
            struct wl_tensor *side = wl_linear(g, "side", wl_batch_norm(g, "bn", y, (struct wl_norm) { 0 }), CLASSES);
            wl_cross_entropy(g, "side_loss", side, labels, (struct wl_loss) { .weight = 0.4, .auxiliary = true });
        }
        wl_cross_entropy(g, "loss", wl_linear(g, "fc", y, CLASSES), labels, (struct wl_loss) { 0 });
        assert_int_equal(wl_plan_new(&p, g, &(struct wl_plan_opts) { .seed = 1 }, NULL, a, NULL), 0);
        float *images = wl_plan_input(p, x);
        for (uint64_t i = 0; i < BATCH * 3 * 64; i++) images[i] = (float)wl_random_normal(5, 5, i);
        struct wl_counts t = { 0 }, v = { 0 };
        assert_int_equal(wl_plan_train(p, true, true, &t, NULL), 0);
        assert_int_equal(wl_plan_eval(p, &v, NULL), 0);
        assert_int_equal(t.samples, BATCH);
        assert_int_equal(v.samples, BATCH);
        loss[with][0] = t.loss_sum;
        loss[with][1] = v.loss_sum;
    }
    assert_true(loss[1][0] > loss[0][0] * 1.05);
    assert_true(loss[1][1] == loss[0][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bad_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_loss, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_large, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_label, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_backends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_first_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_state_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_decay_of_weights_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_running_statistics, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_buckets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_buckets_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_buckets_wait_for_shared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ranks_must_start_alike, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_evaluation_ends_at_the_loss, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_auxiliary_loss, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_outputs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_odd_outputs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_info, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_steps_explain_the_plan, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
