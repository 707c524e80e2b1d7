/* Back-end boxed: memory that the host cannot touch. What plans on it compute is in tests/unit/models/test_boxed.c. */
#include "network.h"

#include "nn/program/device.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct wl_plan *boxed(void) { return plan((struct wl_plan_opts) { .backend = "boxed" }, NULL); }

/* The signal that ends a process which reads, or writes, at this address; 0: none. */
static int signal_of_touch(volatile char *at, bool write)
{
    const pid_t pid = fork();
    WL_CHECK(pid >= 0);
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would print a report */
        char seen = *at;
        if (write) *at = seen;
        _exit(0);
    }
    int status;
    WL_CHECK(waitpid(pid, &status, 0) == pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_host_access_to_plan_memory_faults(void **state)
{
    (void)state;
    struct wl_plan *p = boxed();
    assert_int_equal(train(p, true, true, NULL) | wl_plan_update(p, 0.1, NULL), 0);
    const struct wl_graph *g = p->program.graph;
    void *const inside[] = { p->memory,        p->param,   p->gradient,  p->statistic,
                             p->statistic_sum, p->slot[0], p->io.counts, p->program.input[g->tensors[0]->id]->at };
    for (size_t i = 0; i < WL_COUNT(inside); i++) {
        assert_int_equal(signal_of_touch(inside[i], false), SIGSEGV);
        assert_int_equal(signal_of_touch(inside[i], true), SIGSEGV);
    }
    assert_int_equal(signal_of_touch(wl_plan_input(p, g->tensors[0]), true), 0);
}

static void test_plan_in_host_memory_uses_inputs_in_place(void **state)
{
    (void)state;
    struct wl_plan *p = plan((struct wl_plan_opts) { .backend = "ref" }, NULL);
    const struct wl_tensor *x = p->program.graph->tensors[0];
    assert_ptr_equal(p->program.input[x->id]->at, wl_plan_input(p, x));
    assert_ptr_equal(p->io.output.at, p->io.output.host);
}

static void test_boxed_is_chosen_by_name_only(void **state)
{
    (void)state;
    const struct wl_backend *best = NULL;
    assert_int_equal(wl_backend_find(NULL, &best, NULL), 0);
    assert_false(best->row.test_only);
    assert_int_equal(wl_backend_find("boxed", &best, NULL), 0);
    assert_true(best->row.test_only);
}

/* A label that is not there is found in what the caller filled in, and the run fails as on other devices. */
static void test_run_errors_equal_those_of_ref(void **state)
{
    (void)state;
    struct wl_plan *p = boxed();
    int32_t *labels = wl_plan_input(p, p->program.graph->tensors[1]);
    labels[2] = CLASSES;
    struct wl_err e = { 0 };
    assert_int_equal(train(p, true, true, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "loss (forward): label 4 of sample 2 is beyond the 4 classes"));
    labels[2] = 0;
    assert_int_equal(train(p, true, true, &e), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(test_host_access_to_plan_memory_faults),
        WITH_ARENA(test_plan_in_host_memory_uses_inputs_in_place),
        WITH_ARENA(test_boxed_is_chosen_by_name_only),
        WITH_ARENA(test_run_errors_equal_those_of_ref),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
