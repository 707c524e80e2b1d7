/* Two ranks on two simulated GPUs train as one that accumulates their batches: summed by NCCL and through host memory,
 * over the fakes. */
#include "nn/plan/internal.h"
#include "ranks.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 8, FEATURES = 24, HIDDEN = 40, RANKS = 2, UPDATES = 4 }; /* of a variant the second run is captured */
enum { SKIPPED = 77 };

static struct wl_graph *network(struct wl_arena *a)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(BATCH, FEATURES));
    struct wl_tensor *target = wl_input(g, "target", WL_F32, WL_DIMS(BATCH, 1));
    x = wl_relu(g, "relu", wl_linear(g, "first", x, HIDDEN));
    wl_mean_square(g, "loss", wl_linear(g, "second", x, 1), target, (struct wl_loss) { 0 });
    return g;
}

static int make(struct wl_plan **p, struct wl_comm *c, int micro_batches, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_plan_opts o = { .backend = "gpu",
                                    .seed = 7,
                                    .micro_batches = micro_batches,
                                    .bucket_bytes = 512, /* several */
                                    .optim = { .kind = "adamw" } };
    return wl_plan_new(p, network(a), &o, c, a, e);
}

static void fill(struct wl_plan *p, int update, int shard)
{
    const uint64_t stream = (uint64_t)(10 * update + shard);
    const struct wl_graph *g = p->program.graph;
    float *x = wl_plan_input(p, g->tensors[0]), *target = wl_plan_input(p, g->tensors[1]);
    for (uint64_t i = 0; i < BATCH * FEATURES; i++) x[i] = (float)wl_random_normal(1, stream, i);
    for (uint64_t i = 0; i < BATCH; i++) target[i] = (float)wl_random_normal(2, stream, i);
}

static int together(struct wl_plan *p, int rank, int update, struct wl_err *e)
{
    fill(p, update, rank);
    int rc = wl_plan_train(p, true, true, NULL, e);
    return rc ? rc : wl_plan_update(p, 0.01, e);
}

static int alone(struct wl_plan *p, int update, struct wl_err *e)
{
    int rc = 0;
    for (int shard = 0; shard < RANKS && !rc; shard++) {
        fill(p, update, shard);
        rc = wl_plan_train(p, shard == 0, shard == RANKS - 1, NULL, e);
    }
    return rc ? rc : wl_plan_update(p, 0.01, e);
}

/* The largest difference of parameters and optimizer states. */
static int compare(struct wl_plan *p, struct wl_plan *q, struct wl_arena *a, double *most, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < wl_plan_state_count(p) && !rc; i++) {
        const size_t n = wl_plan_state(p, i).count;
        float *x = wl_new_array(a, float, n), *y = wl_new_array(a, float, n);
        rc = wl_plan_state_read(p, i, x, e);
        if (!rc) rc = wl_plan_state_read(q, i, y, e);
        for (size_t k = 0; k < n && !rc; k++) *most = fmax(*most, fabs((double)x[k] - (double)y[k]));
    }
    return rc;
}

/* value: what the plan's states differ by, whether the device summed, whether operations are missing. */
static int train(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(c->arena);
    struct wl_plan *both = NULL, *one = NULL;
    int rc = make(&one, NULL, RANKS, a, e);
    r->value[2] = rc == WL_EUNAVAIL && strstr(e->msg, "does not have this operation yet");
    if (!rc) rc = make(&both, c, 1, a, e);
    for (int u = 0; u < UPDATES && !rc; u++) {
        rc = together(both, c->rank, u, e);
        if (!rc) rc = alone(one, u, e);
    }
    if (!rc) rc = compare(both, one, a, &r->value[0], e);
    if (!rc) r->value[1] = both->sums.sums != NULL;
    wl_arena_free(a);
    return rc;
}

static bool skipped;

static struct report *run(const char *comm, rank_fn *fn)
{
    const struct wl_comm_opts how = { .backend = comm, .on_gpus = true };
    struct report *r = run_ranks_as(RANKS, &how, fn);
    if (r[0].value[2] != 0) {
        printf("SKIP: %s\n", r[0].msg);
        skipped = true;
        skip();
    }
    return r;
}

static void trains(const char *comm, bool on_device)
{
    const struct report *r = run(comm, train);
    for (int k = 0; k < RANKS; k++) {
        if (!r[k].came_back || r[k].rc) fail_msg("%s, rank %d: %s", comm, k, r[k].msg);
        assert_true(r[k].value[1] == on_device);
        if (!(r[k].value[0] < 1e-6)) fail_msg("%s, rank %d: states differ by %g", comm, k, r[k].value[0]);
    }
}

static void test_two_ranks_accumulate(void **state)
{
    (void)state;
    trains("nccl", true);
    trains("auto", true);
    trains("shm", false);
}

static int one_dies(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    struct wl_plan *p = NULL;
    int rc = make(&p, c, 1, c->arena, e);
    r->value[2] = rc == WL_EUNAVAIL && strstr(e->msg, "does not have this operation yet");
    for (int u = 0; u < UPDATES && !rc; u++) {
        if (u == UPDATES - 1 && c->rank == 1) raise(SIGKILL);
        rc = together(p, c->rank, u, e);
    }
    return rc;
}

static void test_killed_rank(void **state)
{
    (void)state;
    const int64_t start_ns = wl_now_ns();
    const struct report *r = run("nccl", one_dies);
    assert_true(r[0].came_back && !r[1].came_back);
    assert_int_equal(r[0].rc, WL_EJOB);
    if (!strstr(r[0].msg, "rank 1 (process ") || !strstr(r[0].msg, "died")) fail_msg("%s", r[0].msg);
    assert_true(wl_now_ns() - start_ns < 20 * WL_NS_PER_S);
}

static void test_one_gpu(void **state)
{
    (void)state;
    setenv("WATTLAW_FAKE_GPU", "devices=1", 1);
    const struct report *r = run("nccl", one_dies);
    setenv("WATTLAW_FAKE_GPU", "devices=2", 1);
    for (int k = 0; k < RANKS; k++) {
        assert_int_equal(r[k].rc, WL_ELIB);
        if (!strstr(r[k].msg, "Duplicate GPU detected")) fail_msg("%s", r[k].msg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_ranks_accumulate),
        cmocka_unit_test(test_killed_rank),
        cmocka_unit_test(test_one_gpu),
    };
    setenv("WATTLAW_FAKE_GPU", "devices=2", 1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return !failed && skipped ? SKIPPED : failed;
}
