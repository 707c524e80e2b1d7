/* Gradients of several ranks: reduced in buckets, each once, as soon as they are final. */
#include "network.h"

/* A communicator of two equal ranks that notes what it is given. */
struct recorded {
    struct wl_comm comm;
    const float *from[64];
    size_t n[64];
    int calls;
};

static int double_f32(struct wl_comm *c, float *buf, size_t n, struct wl_err *e)
{
    (void)e;
    struct recorded *t = (struct recorded *)c;
    t->from[t->calls] = buf;
    t->n[t->calls++] = n;
    for (size_t i = 0; i < n; i++) buf[i] *= 2;
    return 0;
}

static int double_f64(struct wl_comm *c, double *buf, size_t n, struct wl_err *e)
{
    (void)c;
    (void)e;
    for (size_t i = 0; i < n; i++) buf[i] *= 2;
    return 0;
}

static int broadcast_same(struct wl_comm *c, void *buf, size_t bytes, int root, struct wl_err *e)
{
    (void)c;
    (void)buf;
    (void)bytes;
    (void)root;
    (void)e;
    return 0;
}

static int no_op(struct wl_comm *c, struct wl_err *e)
{
    (void)c;
    (void)e;
    return 0;
}

static const struct wl_comm_ops recording = { .name = "recording",
                                              .all_reduce_sum = double_f32,
                                              .reduce_start = double_f32,
                                              .reduce_poll = no_op,
                                              .reduce_finish = no_op,
                                              .all_reduce_sum_f64 = double_f64,
                                              .broadcast = broadcast_same };

/* Rank 0 of another kind: its fingerprint is not ours. */
static int broadcast_different(struct wl_comm *c, void *buf, size_t bytes, int root, struct wl_err *e)
{
    (void)c;
    (void)root;
    (void)e;
    if (bytes == sizeof(uint64_t)) memset(buf, 0x5a, bytes);
    return 0;
}

static void test_ranks_with_other_parameters_are_refused(void **state)
{
    (void)state;
    const struct wl_comm_ops other = { .all_reduce_sum_f64 = double_f64, .broadcast = broadcast_different };
    struct wl_comm comm = { .ops = &other, .size = 2, .arena = a };
    struct wl_plan *p;
    struct wl_err e = { 0 };
    assert_int_equal(wl_plan_new(&p, network(), &(struct wl_plan_opts) { 0 }, &comm, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "the parameters differ from those of rank 0"));
}

/* What a rank compares with the others at the start: of its parameters. */
static int keep_fingerprint(struct wl_comm *c, void *buf, size_t bytes, int root, struct wl_err *e)
{
    (void)root, (void)e;
    if (bytes == sizeof(uint64_t)) memcpy(c->state, buf, bytes);
    return 0;
}

/* Of a network whose last parameters in memory, those of the first layer, start as its name says. */
static uint64_t fingerprint(const char *first, const char *backend)
{
    const struct wl_comm_ops keeps = { .all_reduce_sum_f64 = double_f64, .broadcast = keep_fingerprint };
    uint64_t hash = 0;
    struct wl_comm comm = { .ops = &keeps, .size = 2, .arena = a, .state = &hash };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(BATCH, 8));
    struct wl_tensor *labels = wl_input(g, "labels", WL_I32, WL_DIMS(BATCH));
    x = wl_linear(g, "wide", wl_linear(g, first, x, 200), 200);
    wl_cross_entropy(g, "loss", x, labels, (struct wl_loss) { 0 });
    struct wl_plan *p;
    struct wl_err e = { 0 };
    if (wl_plan_new(&p, g, &(struct wl_plan_opts) { .backend = backend }, &comm, a, &e)) fail_msg("%s", e.msg);
    assert_true(p->params[p->n_params - 1].value->offset > (1 << 14) * sizeof(float) && hash);
    return hash;
}

static void test_all_parameters_are_compared_at_the_start(void **state)
{
    (void)state;
    assert_true(fingerprint("first", "ref") == fingerprint("first", "ref"));
    assert_true(fingerprint("first", "ref") != fingerprint("other", "ref"));
    assert_true(fingerprint("first", "boxed") != fingerprint("other", "boxed"));
}

/* Each gradient is reduced once, in order, after the last micro-batch only; the update then divides by the ranks. */
static void test_each_gradient_is_reduced_once_in_order(void **state)
{
    (void)state;
    struct recorded t = { .comm = { .ops = &recording, .size = 2, .arena = a } };
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

static void assert_buckets_wait(const struct wl_plan *p)
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
static void test_bucket_waits_for_the_last_write(void **state)
{
    (void)state;
    struct recorded t = { .comm = { .ops = &recording, .size = 2, .arena = a } };
    assert_buckets_wait(plan((struct wl_plan_opts) { .bucket_bytes = 4096 }, &t.comm));
}

/* Nor before the first operation that reads a shared parameter, whose gradient comes last. */
static void test_bucket_waits_for_shared_parameters(void **state)
{
    (void)state;
    struct recorded t = { .comm = { .ops = &recording, .size = 2, .arena = a } };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *target = wl_input(g, "target", WL_F32, WL_DIMS(BATCH, 40)), *x = target;
    for (int i = 0; i < 2; i++) {
        if (i) wl_scope_reuse(g, "second");
        for (int k = 0; k < 3; k++) x = wl_linear(g, wl_strf(a, "fc%d", k), x, 40);
        wl_mean_square(g, "loss", x, target, (struct wl_loss) { 0 });
        if (i) wl_scope_pop(g);
    }
    struct wl_plan *p;
    assert_int_equal(wl_plan_new(&p, g, &(struct wl_plan_opts) { .bucket_bytes = 4096 }, &t.comm, a, NULL), 0);
    assert_buckets_wait(p);
    assert_string_equal(p->program.steps[p->buckets[0].ready]->node->name, "fc2");
    assert_int_equal(wl_plan_info(p).parameters, 3 * (40 * 40 + 40));
    assert_int_equal(p->n_params, 6);
    assert_int_equal(p->n_states, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(test_ranks_with_other_parameters_are_refused),
        WITH_ARENA(test_all_parameters_are_compared_at_the_start),
        WITH_ARENA(test_each_gradient_is_reduced_once_in_order),
        WITH_ARENA(test_bucket_waits_for_the_last_write),
        WITH_ARENA(test_bucket_waits_for_shared_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
