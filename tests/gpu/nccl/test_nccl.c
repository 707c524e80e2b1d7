/* Sums on GPUs by NCCL: over the fake NCCL, on streams of this test's own, which it also exports to the fake. */
#include "nn/comm/nccl_api.h"
#include "ranks.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the driver: a stream runs when it is waited for ---- */

enum { MAX_CALLS = 256 };

struct CUstream_st {
    struct {
        void (*run)(void *);
        void *of;
    } call[MAX_CALLS];
    int n;
};

int wl_fake_enqueue(struct CUstream_st *s, void (*run)(void *), void *of);
int cuCtxGetDevice(int *device);
int cuDeviceGetPCIBusId(char *name, int room, int device);

static struct CUstream_st stream;
static int device; /* of this rank */

int wl_fake_enqueue(struct CUstream_st *s, void (*run)(void *), void *of)
{
    WL_CHECK(s == &stream && s->n < MAX_CALLS);
    s->call[s->n].run = run;
    s->call[s->n++].of = of;
    return 0;
}

static void synchronize(void)
{
    for (int i = 0; i < stream.n; i++) stream.call[i].run(stream.call[i].of);
    stream.n = 0;
}

int cuCtxGetDevice(int *out)
{
    *out = device;
    return 0;
}

int cuDeviceGetPCIBusId(char *name, int room, int d) { return snprintf(name, (size_t)room, "0000:%02x:00.0", d) < 0; }

/* ---- ranks ---- */

static int attach(struct wl_comm *c, struct wl_comm_device *d, struct wl_err *e)
{
    device = c->node_rank;
    *d = (struct wl_comm_device) { .stream = &stream };
    return c->ops->attach(c, d, c->arena, e);
}

/* One sum of n floats as a plan makes it: watched, enqueued, waited for. */
static int sum(struct wl_comm *c, const struct wl_comm_device *d, float *x, size_t n, struct wl_err *e)
{
    struct wl_err lost = { 0 };
    int rc = c->ops->watch(c, d, true, e);
    if (!rc) rc = c->ops->enqueue_sum(c, d, x, n, e);
    synchronize();
    if (!c->ops->watch(c, d, false, &lost)) return rc;
    *e = lost;
    return lost.code;
}

static float *numbers(struct wl_comm *c, size_t n)
{
    float *x = wl_new_array(c->arena, float, n);
    for (size_t i = 0; i < n; i++) x[i] = number(c->rank, i);
    return x;
}

static const struct wl_comm_opts by_name = { .backend = "nccl", .on_gpus = true },
                                 automatic = { .backend = "auto", .on_gpus = true };

static void all_succeeded(const struct report *r, int n)
{
    for (int k = 0; k < n; k++) {
        if (!r[k].came_back || r[k].rc) fail_msg("rank %d: %s", k, r[k].came_back ? r[k].msg : "did not come back");
        assert_true(r[k].value[0] == 0);
    }
}

/* value[0]: numbers that are not the sum. Plans in turn: each joins and leaves. */
static int sums(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    static const size_t sizes[] = { 1, 16, 4095, 4096, 4097, 30000 };
    if (!wl_str_eq(c->ops->name, "nccl")) return wl_fail(e, WL_EINVAL, "communication by %s", c->ops->name);
    struct wl_comm_device d[2];
    int rc = attach(c, &d[0], e);
    if (!rc) rc = attach(c, &d[1], e);
    for (size_t k = 0; k < WL_COUNT(sizes) && !rc; k++) {
        float *x = numbers(c, sizes[k]);
        rc = sum(c, &d[k % 2], x, sizes[k], e);
        for (size_t i = 0; i < sizes[k]; i++) r->value[0] += fabsf(x[i] - sum_of(c->size, i)) > 1e-6f;
    }
    return rc ? rc : c->ops->barrier(c, e);
}

static void test_sums(void **state)
{
    (void)state;
    all_succeeded(run_ranks_as(2, &automatic, sums), 2);
    all_succeeded(run_ranks_as(3, &by_name, sums), 3);
}

/* ---- without NCCL ---- */

static int without(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    struct wl_comm_device d;
    float x = 1;
    int rc = attach(c, &d, e);
    if (rc) return rc;
    r->value[0] = d.sums != NULL || !wl_str_eq(c->ops->name, "shm");
    rc = c->ops->all_reduce_sum(c, &x, 1, e);
    r->value[0] += x != (float)c->size;
    return rc;
}

static void test_missing_library(void **state)
{
    (void)state;
    char *real = strdup(getenv("WATTLAW_CUDA_PATH"));
    setenv("WATTLAW_CUDA_PATH", "/proc/nowhere", 1);
    struct report *r = run_ranks_as(2, &by_name, without);
    const bool found = r[0].rc != WL_EUNAVAIL; /* a real one, by the loader */
    for (int k = 0; k < 2 && !found; k++) {
        assert_int_equal(r[k].rc, WL_EUNAVAIL);
        assert_non_null(strstr(r[k].msg, "NCCL (libnccl.so.2)"));
        assert_non_null(strstr(r[k].msg, "pip install nvidia-nccl-cu13"));
    }
    if (!found) all_succeeded(run_ranks_as(2, &automatic, without), 2);
    setenv("WATTLAW_CUDA_PATH", real, 1);
    free(real);
    if (found) skip();
}

static void test_wrong_versions(void **state)
{
    (void)state;
    static const char *const versions[][2] = {
        { "version=2805", "it is version 2.8.5; 2.16 or a later 2.x is needed" },
        { "version=21502", "it is version 2.15.2; 2.16 or a later 2.x is needed" },
        { "version=30001", "it is version 3.0.1; 2.16 or a later 2.x is needed" }
    };
    for (size_t i = 0; i < WL_COUNT(versions); i++) {
        setenv("WATTLAW_FAKE_NCCL", versions[i][0], 1);
        struct report *r = run_ranks_as(2, &by_name, without);
        assert_int_equal(r[0].rc, WL_ELIB);
        if (!strstr(r[0].msg, versions[i][1])) fail_msg("%s: %s", versions[i][0], r[0].msg);
        all_succeeded(run_ranks_as(2, &automatic, without), 2);
    }
    unsetenv("WATTLAW_FAKE_NCCL");
}

/* ---- losing a rank ---- */

static int one_dies(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    struct wl_comm_device d;
    float *x = numbers(c, 1000);
    int rc = attach(c, &d, e);
    if (!rc) rc = sum(c, &d, x, 1000, e);
    if (c->rank == 1) raise(SIGKILL);
    if (!rc) rc = sum(c, &d, x, 1000, e);
    struct wl_err later = { 0 };
    r->value[0] = c->ops->watch(c, &d, true, &later); /* unusable from then on */
    return rc;
}

/* Loses a rank while NCCL is called: it is not aborted in there. */
static int one_dies_in_call(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    struct wl_comm_device d;
    float *x = numbers(c, 1000);
    (void)r;
    int rc = attach(c, &d, e);
    if (!rc) rc = sum(c, &d, x, 1000, e);
    if (c->rank == 1) raise(SIGKILL);
    return rc ? rc : sum(c, &d, x, 1000, e);
}

static int one_gives_up(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    (void)r;
    struct wl_comm_device d;
    int rc = attach(c, &d, e);
    if (rc) return rc;
    if (c->rank == 1) c->ops->abandon(c, 1, NULL);
    return c->rank == 1 ? 0 : sum(c, &d, numbers(c, 1000), 1000, e);
}

static int one_is_busy(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    (void)r;
    struct wl_comm_device d;
    int rc = attach(c, &d, e);
    if (!rc && c->rank == 0) rc = sum(c, &d, numbers(c, 1000), 1000, e);
    struct wl_err broken;
    if (c->ops->barrier(c, &broken)) return rc ? rc : WL_EIO;
    return rc;
}

static void test_lost_ranks(void **state)
{
    (void)state;
    const int64_t start_ns = wl_now_ns();
    struct report *r = run_ranks_as(3, &by_name, one_dies);
    assert_false(r[1].came_back);
    for (int k = 0; k < 3; k += 2) {
        assert_int_equal(r[k].rc, WL_EJOB);
        assert_non_null(strstr(r[k].msg, "rank 1 (process "));
        assert_true(r[k].value[0] == WL_EJOB);
    }
    setenv("WATTLAW_FAKE_NCCL", "slow_at=2", 1);
    r = run_ranks_as(2, &by_name, one_dies_in_call);
    unsetenv("WATTLAW_FAKE_NCCL");
    assert_true(r[0].came_back && r[0].rc == WL_EJOB);
    assert_non_null(strstr(r[0].msg, "rank 1 (process "));
    r = run_ranks_as(2, &by_name, one_gives_up);
    assert_int_equal(r[0].rc, WL_EJOB);
    assert_string_equal(r[0].msg, "rank 1 gave up");
    r = run_ranks_as(2, &(struct wl_comm_opts) { .backend = "nccl", .on_gpus = true, .timeout_s = 0.3 }, one_is_busy);
    assert_int_equal(r[0].rc, WL_EJOB);
    assert_non_null(strstr(r[0].msg, "has not ended in 0.3 s"));
    assert_int_equal(r[1].rc, 0);
    assert_true(wl_now_ns() - start_ns < 20 * WL_NS_PER_S);
}

/* ---- errors of NCCL ---- */

static int out_of_step(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    (void)r;
    struct wl_comm_device d;
    int rc = attach(c, &d, e);
    return rc ? rc : sum(c, &d, numbers(c, 64), c->rank == 1 ? 48 : 64, e);
}

static int in_step(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    (void)r;
    struct wl_comm_device d;
    float *x = numbers(c, 64);
    int rc = attach(c, &d, e);
    for (int i = 0; i < 3 && !rc; i++) rc = sum(c, &d, x, 64, e);
    return rc;
}

static int one_gpu(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    struct wl_comm_device d = { .stream = &stream };
    int other = 0, rc = wl_comm_find_equal(c, c->rank == 1 ? "GPU-1" : "GPU-0", &other, e);
    r->value[0] = rc || other != (c->rank == 2 ? 0 : -1);
    return rc ? rc : c->ops->attach(c, &d, c->arena, e); /* `device` is 0 on all ranks */
}

static void all_said(const struct report *r, int n, int code, const char *text)
{
    for (int k = 0; k < n; k++)
        if (!r[k].came_back || r[k].rc != code || !strstr(r[k].msg, text))
            fail_msg("rank %d: %d, %s; expected '%s'", k, r[k].rc, r[k].msg, text);
}

static void test_errors(void **state)
{
    (void)state;
    all_said(run_ranks_as(2, &by_name, out_of_step), 2, WL_EJOB, "ranks give sums of other sizes");
    struct report *r = run_ranks_as(3, &by_name, one_gpu);
    all_said(r, 3, WL_ELIB, "Duplicate GPU detected");
    for (int k = 0; k < 3; k++) assert_true(r[k].value[0] == 0);
    setenv("WATTLAW_FAKE_NCCL", "fail_at=2", 1);
    all_said(run_ranks_as(2, &by_name, in_step), 2, WL_ELIB, "ncclAllReduce: unhandled cuda error (1): a fake failure");
    setenv("WATTLAW_FAKE_NCCL", "async_at=2", 1);
    all_said(run_ranks_as(2, &by_name, in_step), 2, WL_EJOB, "a sum over the ranks failed");
    unsetenv("WATTLAW_FAKE_NCCL");
}

/* ---- joining ---- */

static int joins(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    struct wl_comm_device d;
    (void)r;
    return attach(c, &d, e);
}

static void test_lost_while_joining(void **state)
{
    (void)state;
    const int64_t start_ns = wl_now_ns();
    setenv("WATTLAW_FAKE_NCCL", "dies_joining=1", 1);
    struct report *r = run_ranks_as(3, &by_name, joins);
    assert_false(r[1].came_back);
    for (int k = 0; k < 3; k += 2) {
        assert_int_equal(r[k].rc, WL_EJOB);
        if (!strstr(r[k].msg, "rank 1 (process ")) fail_msg("%s", r[k].msg);
    }
    setenv("WATTLAW_FAKE_NCCL", "hangs_joining=1", 1);
    const struct wl_comm_opts brief = { .backend = "nccl", .on_gpus = true, .timeout_s = 0.3 };
    all_said(run_ranks_as(2, &brief, joins), 2, WL_EJOB, "ncclCommInitRank has not ended in 0.3 s");
    unsetenv("WATTLAW_FAKE_NCCL");
    assert_true(wl_now_ns() - start_ns < 10 * WL_NS_PER_S);
}

static void test_one_rank_needs_no_nccl(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_comm *c;
    struct wl_err e = { 0 };
    assert_int_equal(wl_comm_open(&c, &automatic, a, &e), 0);
    assert_string_equal(c->ops->name, "null");
    assert_int_equal(wl_comm_open(&c, &by_name, a, &e), 0);
    assert_string_equal(c->ops->name, "nccl");
    assert_true(c->size == 1 && c->node_size == 1 && c->ops->barrier(c, &e) == 0);
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_missing_library),
        cmocka_unit_test(test_wrong_versions),
        cmocka_unit_test(test_lost_ranks),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_lost_while_joining),
        cmocka_unit_test(test_one_rank_needs_no_nccl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
