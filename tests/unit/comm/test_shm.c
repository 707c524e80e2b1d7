/* Ranks that share memory: sums, copies, and what happens when one of them goes away. */
#include "ranks.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const size_t sizes[] = { 1, 2, 15, 16, 17, 1023, 1024, 1025, 32768, 32769, 100003 };

static bool same_bits(float a, float b) { return memcmp(&a, &b, sizeof a) == 0; }

/* value[0]: numbers that differ in any bit from the sum in rank order. */
static int sum_plain(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    for (size_t k = 0; k < WL_COUNT(sizes); k++) {
        size_t n = sizes[k];
        float *x = wl_new_array(c->arena, float, n + 1);
        for (size_t i = 0; i < n; i++) x[i] = number(c->rank, i);
        x[n] = 7;
        int rc = c->ops->all_reduce_sum(c, x, n, e);
        if (rc) return rc;
        for (size_t i = 0; i < n; i++) r->value[0] += !same_bits(x[i], sum_of(c->size, i));
        r->value[0] += x[n] != 7;
    }
    return 0;
}

/* The same in place in shared memory, at offsets that do not fall on cache lines. */
static int sum_shared(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    const size_t total = 300000;
    float *x = c->ops->alloc_shared(c, total * sizeof *x, e), *other = c->ops->alloc_shared(c, 64, e);
    if (!x || !other) return e->code;
    for (size_t i = 0; i < total; i++) r->value[0] += x[i] != 0;
    size_t at = 0;
    for (size_t k = 0; k < WL_COUNT(sizes); k++) {
        size_t n = sizes[k];
        for (size_t i = 0; i < n; i++) x[at + i] = number(c->rank, i);
        x[at + n] = 7; /* written before the sum, which must leave it alone */
        int rc = c->ops->all_reduce_sum(c, x + at, n, e);
        if (rc) return rc;
        for (size_t i = 0; i < n; i++) r->value[0] += !same_bits(x[at + i], sum_of(c->size, i));
        r->value[0] += x[at + n] != 7;
        at += n + 1;
    }
    return 0;
}

static void all_ranks_found_no_difference(int n, rank_fn *fn)
{
    struct report *r = run_ranks(n, fn);
    for (int k = 0; k < n; k++) {
        assert_true(r[k].came_back);
        assert_string_equal(r[k].msg, "");
        assert_int_equal(r[k].rc, 0);
        assert_true(r[k].value[0] == 0);
    }
}

static void test_sums(void **state)
{
    (void)state;
    for (int n = 2; n <= 5; n++) {
        all_ranks_found_no_difference(n, sum_plain);
        all_ranks_found_no_difference(n, sum_shared);
    }
}

/* Sums in the background: more than wait at one time, of sizes that slices do not divide, handed over before the others
 * have theirs. Twice, since the second round's buffers hold the first round's sums. */
static int sum_behind(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    enum { BUFFERS = 300, FLOATS = 1009 };
    float *x = c->ops->alloc_shared(c, BUFFERS * FLOATS * sizeof *x, e), alone = 1;
    if (!x) return e->code;
    for (int round = 0; round < 2; round++) {
        int rc = 0;
        for (size_t i = 0; i < BUFFERS * FLOATS; i++) x[i] = number(c->rank, i);
        for (size_t b = 0; b < BUFFERS && !rc; b++) {
            rc = c->ops->reduce_start(c, x + b * FLOATS, FLOATS, e);
            if (!rc) rc = c->ops->reduce_poll(c, e);
        }
        if (!rc) rc = c->ops->reduce_start(c, &alone, 1, e); /* not in shared memory: at once */
        if (!rc) rc = c->ops->reduce_finish(c, e);
        if (rc) return rc;
        for (size_t i = 0; i < BUFFERS * FLOATS; i++) r->value[0] += !same_bits(x[i], sum_of(c->size, i));
    }
    r->value[0] += alone != (float)c->size * (float)c->size;
    return c->ops->reduce_finish(c, e); /* nothing to wait for */
}

static void test_sums_behind(void **state)
{
    (void)state;
    for (int n = 2; n <= 5; n++) all_ranks_found_no_difference(n, sum_behind);
}

static int sum_and_copy(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    enum { N = 100000 };
    double *x = wl_new_array(c->arena, double, N);
    for (size_t i = 0; i < N; i++) x[i] = c->rank + 1 + 1e-12 * (double)i;
    int rc = c->ops->all_reduce_sum_f64(c, x, N, e);
    if (rc) return rc;
    double ranks = c->size;
    for (size_t i = 0; i < N; i++) {
        double want = ranks * (ranks + 1) / 2 + ranks * 1e-12 * (double)i;
        r->value[0] += x[i] < want - 1e-14 * want || x[i] > want + 1e-14 * want;
    }
    for (int root = 0; root < c->size; root++) {
        for (size_t i = 0; i < N; i++) x[i] = c->rank == root ? root + (double)i : -1;
        rc = c->ops->broadcast(c, x, N * sizeof *x - 3, root, e); /* three bytes of the last number stay */
        if (rc) return rc;
        for (size_t i = 0; i + 1 < N; i++) r->value[0] += x[i] != root + (double)i;
        if (c->rank != root) r->value[0] += x[N - 1] == root + (double)(N - 1);
    }
    return 0;
}

static void test_f64_and_broadcast(void **state)
{
    (void)state;
    for (int n = 2; n <= 5; n++) all_ranks_found_no_difference(n, sum_and_copy);
}

/* More ranks than cores, many small calls: finishes in time only if waiting gives the core away. */
static int many_barriers(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    float x = 1;
    int rc = 0;
    for (int i = 0; i < 2000 && !rc; i++) {
        x = 1;
        rc = c->ops->all_reduce_sum(c, &x, 1, e);
        r->value[0] += x != (float)c->size;
    }
    return rc ? rc : c->ops->barrier(c, e);
}

static void test_more_ranks_than_cores(void **state)
{
    (void)state;
    int64_t start = wl_now_ns();
    all_ranks_found_no_difference(8, many_barriers);
    assert_true(wl_now_ns() - start < 20 * WL_NS_PER_S);
}

/* ---- losing a rank ---------------------------------------------------------------------------------------------- */

static int one_is_killed(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    (void)r;
    float x = 1;
    if (c->rank == 2) raise(SIGKILL);
    int rc = c->ops->all_reduce_sum(c, &x, 1, e);
    struct wl_err again = { 0 };
    r->value[0] = c->ops->barrier(c, &again); /* broken for good */
    return rc;
}

static void test_killed_rank(void **state)
{
    (void)state;
    int64_t start = wl_now_ns();
    struct report *r = run_ranks(4, one_is_killed);
    assert_true(wl_now_ns() - start < 5 * WL_NS_PER_S);
    assert_false(r[2].came_back);
    for (int k = 0; k < 4; k++) {
        if (k == 2) continue;
        assert_true(r[k].came_back);
        assert_int_equal(r[k].rc, WL_EJOB);
        assert_int_equal(r[k].value[0], WL_EJOB);
    }
    assert_non_null(strstr(r[0].msg, "rank 2"));
    assert_non_null(strstr(r[0].msg, "died"));
}

static int one_gives_up(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    (void)r;
    if (c->rank == 1) {
        c->ops->abandon(c, 1, "the sum failed");
        return 0;
    }
    return c->ops->barrier(c, e);
}

static int one_leaves_early(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    (void)r;
    return c->rank == 1 ? 0 : c->ops->barrier(c, e);
}

static void test_rank_that_leaves(void **state)
{
    (void)state;
    struct report *r = run_ranks(3, one_gives_up);
    assert_int_equal(r[0].rc, WL_EJOB);
    assert_string_equal(r[0].msg, "rank 1 gave up: the sum failed");
    assert_int_equal(r[2].rc, WL_EJOB);
    r = run_ranks(3, one_leaves_early);
    assert_int_equal(r[0].rc, WL_EJOB);
    assert_non_null(strstr(r[0].msg, "rank 1"));
    assert_true(r[1].came_back);
}

static int one_is_killed_behind(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    (void)r;
    float *x = c->ops->alloc_shared(c, 64, e);
    if (!x) return e->code;
    if (c->rank == 1) raise(SIGKILL);
    int rc = c->ops->reduce_start(c, x, 16, e);
    if (!rc) rc = c->ops->reduce_poll(c, e);
    return rc ? rc : c->ops->reduce_finish(c, e);
}

static void test_killed_rank_behind(void **state)
{
    (void)state;
    struct report *r = run_ranks(3, one_is_killed_behind);
    assert_false(r[1].came_back);
    for (int k = 0; k < 3; k += 2) {
        assert_int_equal(r[k].rc, WL_EJOB);
        assert_non_null(strstr(r[k].msg, "rank 1"));
    }
}

static int out_of_step_behind(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    (void)r;
    float *x = c->ops->alloc_shared(c, 1024, e);
    if (!x) return e->code;
    int rc = c->ops->reduce_start(c, x + 16 * c->rank, 16, e);
    return rc ? rc : c->ops->reduce_finish(c, e);
}

static int out_of_step(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    (void)r;
    float x[64] = { 0 };
    return c->ops->all_reduce_sum(c, x, c->rank == 1 ? 63 : 64, e);
}

static void test_out_of_step(void **state)
{
    (void)state;
    struct report *r = run_ranks(2, out_of_step);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(r[k].rc, WL_EJOB);
        assert_non_null(strstr(r[k].msg, "not in step"));
    }
    assert_non_null(strstr(r[0].msg, "63"));
    r = run_ranks(2, out_of_step_behind);
    for (int k = 0; k < 2; k++) assert_int_equal(r[k].rc, WL_EJOB);
    assert_true(strstr(r[0].msg, "not in step") || strstr(r[1].msg, "not in step"));
}

/* ---- one outcome of many ---------------------------------------------------------------------------------------- */

static int agree(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    struct wl_err own = { 0 };
    r->value[0] = wl_comm_agree(c, 0, &own);
    r->value[1] = own.code;
    int rc = c->rank >= 1 ? wl_fail(&own, WL_EIO, "disk %d is full", c->rank) : 0;
    rc = wl_comm_agree(c, rc, &own);
    *e = own;
    struct wl_err all = { 0 };
    r->value[2] = wl_comm_agree(c, wl_fail(&all, WL_EINVAL, "no data"), &all);
    r->value[3] = strcmp(all.msg, "no data");
    return rc;
}

static void test_agree(void **state)
{
    (void)state;
    struct report *r = run_ranks(3, agree);
    for (int k = 0; k < 3; k++) {
        assert_true(r[k].came_back);
        assert_true(r[k].value[0] == 0 && r[k].value[1] == 0);
        assert_int_equal(r[k].rc, WL_EIO);
        assert_string_equal(r[k].msg, "rank 1: disk 1 is full");
        assert_true(r[k].value[2] == WL_EINVAL && r[k].value[3] == 0);
    }
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

static void test_table(void **state)
{
    (void)state;
    size_t usable = 0;
    for (size_t i = 0; wl_comm_backends[i]; i++) {
        const struct wl_comm_ops *o = wl_comm_backends[i];
        assert_non_null(o->name);
        assert_non_null(o->help);
        if (o->unavailable) continue;
        assert_true(o->open && o->all_reduce_sum && o->all_reduce_sum_f64 && o->broadcast && o->barrier &&
                    o->alloc_shared && o->abandon && o->reduce_start && o->reduce_poll && o->reduce_finish);
        usable++;
    }
    assert_true(usable >= 2);
}

static void test_open_errors(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_comm *c;
    struct wl_err e = { 0 };
    assert_int_equal(wl_comm_open(&c, &(struct wl_comm_opts) { .backend = "shmm" }, a, &e), WL_EUSAGE);
    assert_non_null(strstr(e.msg, "did you mean 'shm'"));
    assert_int_equal(wl_comm_open(&c, &(struct wl_comm_opts) { .backend = "nccl" }, a, &e), WL_EUSAGE);
    assert_non_null(strstr(e.msg, "GPUs"));
    assert_int_equal(wl_comm_open(&c, &(struct wl_comm_opts) { .backend = "auto" }, a, &e), 0);
    assert_string_equal(c->ops->name, "null");
    float x = 3, *shared = c->ops->alloc_shared(c, 1000, &e);
    assert_int_equal((uintptr_t)shared % 4096, 0);
    assert_int_equal(c->ops->all_reduce_sum(c, &x, 1, &e), 0);
    assert_true(x == 3 && c->rank == 0 && c->size == 1);
    wl_arena_free(a);
}

/* Nobody trains with another number of ranks than was asked for: not alone where mpirun is missing, and not each rank
 * of mpirun on its own. */
static void test_number_of_ranks_is_as_asked(void **state)
{
    (void)state;
    static const struct {
        const char *launched, *backend;
        int64_t workers;
        const char *message;
    } cases[] = {
        { NULL, "mpi", 2, "mpirun -np 2" },
        { NULL, "null", 2, "for one worker, not 2: use shm or auto" },
        { "2", "auto", 2, "one or the other" },
        { "2", "shm", 2, "one or the other" },
        { "2", "null", 0, "started 2 ranks, which would train apart" },
        { "2", "shm", 0, "started 2 ranks, which would train apart" },
    };
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct wl_comm *c;
        struct wl_err e = { 0 };
        if (cases[i].launched) setenv("OMPI_COMM_WORLD_SIZE", cases[i].launched, 1);
        const struct wl_comm_opts o = { .backend = cases[i].backend, .workers = cases[i].workers };
        const int rc = wl_comm_open(&c, &o, a, &e);
        unsetenv("OMPI_COMM_WORLD_SIZE");
        if (rc != WL_EUSAGE || !strstr(e.msg, cases[i].message))
            fail_msg("%s with %lld workers: %d, %s", o.backend, (long long)o.workers, rc, e.msg);
        wl_arena_free(a);
    }
}

/* srun without a PMI: each of its tasks would believe that it is alone. */
static void test_tasks_of_srun_do_not_train_apart(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_comm *c;
    struct wl_err e = { 0 };
    (void)state;
    setenv("SLURM_PROCID", "1", 1);
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    assert_int_equal(wl_comm_open(&c, &(struct wl_comm_opts) { .backend = "auto" }, a, &e), WL_EUSAGE);
    assert_non_null(strstr(e.msg, "srun started 4 tasks without a PMI"));
    assert_int_equal(wl_comm_open(&c, &(struct wl_comm_opts) { .backend = "null" }, a, &e), 0);
    assert_int_equal(wl_comm_open(&c, &(struct wl_comm_opts) { .backend = "auto", .workers = 1 }, a, &e), 0);
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    assert_int_equal(wl_comm_open(&c, &(struct wl_comm_opts) { .backend = "auto" }, a, &e), 0);
    unsetenv("SLURM_STEP_NUM_TASKS");
    unsetenv("SLURM_PROCID");
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_sums_behind),
        cmocka_unit_test(test_f64_and_broadcast),
        cmocka_unit_test(test_more_ranks_than_cores),
        cmocka_unit_test(test_killed_rank),
        cmocka_unit_test(test_killed_rank_behind),
        cmocka_unit_test(test_rank_that_leaves),
        cmocka_unit_test(test_out_of_step),
        cmocka_unit_test(test_agree),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_open_errors),
        cmocka_unit_test(test_number_of_ranks_is_as_asked),
        cmocka_unit_test(test_tasks_of_srun_do_not_train_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
