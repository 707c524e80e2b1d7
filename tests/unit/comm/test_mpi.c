/* Ranks under mpirun. The test starts itself again as `mpirun -np 4 test_comm_mpi rank NODE_SIZE CASE`. */
#include "ranks.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *self;
static struct wl_arena *a;

/* ---- one rank --------------------------------------------------------------------------------------------------- */

static int check_sums(struct wl_comm *c, struct wl_err *e)
{
    const size_t n = 4500000; /* three pieces between nodes for each half */
    float *shared = c->ops->alloc_shared(c, (n + 5) * sizeof *shared, e), *plain = wl_new_array(c->arena, float, 70001);
    if (!shared) return e->code;
    for (size_t i = 0; i < n; i++) shared[5 + i] = number(c->rank, i);
    for (size_t i = 0; i < 70001; i++) plain[i] = number(c->rank, i);
    int rc = c->ops->all_reduce_sum(c, shared + 5, n / 2, e);
    if (!rc) rc = c->ops->reduce_start(c, shared + 5 + n / 2, n - n / 2, e);
    if (!rc) rc = c->ops->reduce_poll(c, e);
    if (!rc) rc = c->ops->reduce_finish(c, e);
    if (!rc) rc = c->ops->all_reduce_sum(c, plain, 70001, e);
    if (rc) return rc;
    for (size_t i = 0; i < n; i++) {
        float want = sum_of(c->size, i), got = shared[5 + i];
        if (got < want - 1e-6f || got > want + 1e-6f)
            return wl_fail(e, WL_EINVAL, "shared[%zu] is %.9g, want %.9g", i, got, want);
        if (i < 70001 && memcmp(&plain[i], &got, sizeof got))
            return wl_fail(e, WL_EINVAL, "plain[%zu] is %.9g, shared %.9g", i, plain[i], got);
    }
    /* All ranks hold the same bits: the sum of one number's differences to rank 0 is 0. */
    float first = shared[4711];
    rc = c->ops->broadcast(c, &first, sizeof first, 0, e);
    double differ = memcmp(&first, &shared[4711], sizeof first) != 0;
    if (!rc) rc = c->ops->all_reduce_sum_f64(c, &differ, 1, e);
    if (!rc && differ != 0) rc = wl_fail(e, WL_EINVAL, "%g ranks differ from rank 0", differ);
    return rc ? rc : c->ops->barrier(c, e);
}

static int be_rank(int ranks_per_node, const char *what)
{
    struct wl_err e = { 0 };
    struct wl_comm *c;
    const struct wl_comm_opts o = { .backend = "auto",
                                    .workers = wl_str_eq(what, "workers"),
                                    .ranks_per_node = ranks_per_node };
    int rc = wl_comm_open(&c, &o, a, &e);
    if (!rc && !wl_str_eq(c->ops->name, "mpi")) rc = wl_fail(&e, WL_EINVAL, "auto chose %s", c->ops->name);
    int nodes = ranks_per_node ? 4 / ranks_per_node : 1;
    if (!rc && (c->size != 4 || c->nodes != nodes))
        rc = wl_fail(&e, WL_EINVAL, "%d ranks on %d nodes", c->size, c->nodes);
    if (!rc && wl_str_eq(what, "sums")) rc = check_sums(c, &e);
    if (!rc && wl_str_eq(what, "kill") && c->rank == 1) raise(SIGKILL);
    if (!rc && wl_str_eq(what, "abandon") && c->rank == 1) c->ops->abandon(c, 7, NULL);
    if (!rc && !wl_str_eq(what, "sums")) rc = c->ops->barrier(c, &e);
    if (rc) fprintf(stderr, "%s\n", e.msg);
    wl_arena_free(a);
    return rc ? 3 : 0;
}

/* ---- the test --------------------------------------------------------------------------------------------------- */

static int mpirun(const char *ranks_per_node, const char *what, char **text)
{
    struct wl_err e = { 0 };
    struct wl_process_result x = { 0 };
    char *argv[] = { "mpirun", "-np", "4", self, "rank", (char *)ranks_per_node, (char *)what, NULL };
    assert_int_equal(wl_process_run(&(struct wl_process_run) { .argv = argv, .max = 65536, .merge_stderr = true }, text,
                                    &x, a, &e),
                     0);
    return x.status;
}

static void test_sums(void **state)
{
    (void)state;
    static const char *const nodes[] = { "0", "1", "2" };
    for (size_t i = 0; i < WL_COUNT(nodes); i++) {
        char *text;
        int status = mpirun(nodes[i], "sums", &text);
        if (status) print_error("ranks a node %s: %s\n", nodes[i], text);
        assert_int_equal(status, 0);
    }
}

/* mpirun gives the status of the rank whose end it sees first; those that are woken presumably race with the one that
 * gives up. It was 1 instead of 7 once, beside other tests; 105 runs by hand all gave 7. */
static void test_lost_ranks(void **state)
{
    (void)state;
    static const char *const nodes[] = { "0", "2" };
    char *text;
    assert_int_not_equal(mpirun("0", "kill", &text), 0);
    for (size_t i = 0; i < WL_COUNT(nodes); i++) {
        int status = 0;
        for (int tries = 0; status != 7 && tries < 3; tries++) {
            status = mpirun(nodes[i], "abandon", &text);
            if (status != 7) print_error("ranks a node %s: status %d: %s\n", nodes[i], status, text);
            assert_int_not_equal(status, 0);
        }
        assert_int_equal(status, 7);
    }
}

/* One worker was asked for, mpirun starts four. */
static void test_other_number_of_ranks(void **state)
{
    (void)state;
    char *text;
    assert_int_not_equal(mpirun("0", "workers", &text), 0);
    if (!strstr(text, "1 worker was asked for, but mpirun or srun started 4 ranks")) fail_msg("%s", text);
}

/* Ranks that another MPI's mpirun started do not form a job: its variables say two ranks, the library finds one. */
static void test_another_launcher(void **state)
{
    (void)state;
    struct wl_err e = { 0 };
    struct wl_process_result x = { 0 };
    char *argv[] = { "env", "PMI_SIZE=2", self, "rank", "0", "sums", NULL }, *text;
    assert_int_equal(wl_process_run(&(struct wl_process_run) { .argv = argv, .max = 65536, .merge_stderr = true },
                                    &text, &x, a, &e),
                     0);
    assert_int_not_equal(x.status, 0);
    if (!strstr(text, "the launcher started 2 ranks, but this one is alone")) fail_msg("%s", text);
}

/* Why MPI cannot be tested here, or NULL. */
static const char *why_not(void)
{
    for (size_t i = 0; wl_comm_backends[i]; i++)
        if (wl_str_eq(wl_comm_backends[i]->name, "mpi") && wl_comm_backends[i]->unavailable)
            return wl_comm_backends[i]->unavailable;
    char *argv[] = { "mpirun", "--version", NULL };
    struct wl_process_result x;
    return wl_process_run(&(struct wl_process_run) { .argv = argv, .merge_stderr = true }, NULL, &x, a, NULL)
               ? "mpirun is not installed (Debian: openmpi-bin)"
               : NULL;
}

int main(int argc, char **argv)
{
    a = wl_arena_new(NULL);
    if (argc == 4) return be_rank(atoi(argv[2]), argv[3]);
    self = argv[0];
    const char *why = why_not();
    if (why) {
        printf("SKIP: %s\n", why);
        return 77;
    }
    /* As root and on few cores, in the words of Open MPI 4 and 5; others ignore them. */
    static const char *const words[][2] = { { "OMPI_ALLOW_RUN_AS_ROOT", "1" },
                                            { "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1" },
                                            { "OMPI_MCA_rmaps_base_oversubscribe", "1" },
                                            { "OMPI_MCA_hwloc_base_binding_policy", "none" },
                                            { "PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe" },
                                            { "PRTE_MCA_hwloc_default_binding_policy", "none" } };
    for (size_t i = 0; i < WL_COUNT(words); i++) setenv(words[i][0], words[i][1], 1);
    /* Open MPI unloads its plug-ins before leaks are looked for: what they keep looks like ours. */
    setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sums), cmocka_unit_test(test_lost_ranks),
                                        cmocka_unit_test(test_other_number_of_ranks),
                                        cmocka_unit_test(test_another_launcher) };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    wl_arena_free(a);
    return failed;
}
