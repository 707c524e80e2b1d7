/* Back-end boxed: memory that the host cannot touch. What plans on it compute is in tests/unit/models/test_boxed.c. */
#include "host_touch.h"
#include "network.h"

#include "nn/host/host.h"

#include <stdio.h>
#include <sys/wait.h>

static struct wl_plan *boxed(void) { return plan((struct wl_plan_opts) { .backend = "boxed" }, NULL); }

/* The signal that ends a process which reads, or writes, at this address, and what it says of that; 0: none. */
static int signal_of_touch(volatile char *at, bool write_it, char *says, size_t room)
{
    int ends[2], status;
    WL_CHECK(pipe(ends) == 0);
    const pid_t pid = fork();
    WL_CHECK(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        end_at_host_touch(); /* a sanitizer would print a report */
        if (write_it)
            *at = 1;
        else
            (void)*at;
        _exit(0);
    }
    close(ends[1]);
    const ssize_t n = read(ends[0], says, room - 1);
    says[n > 0 ? n : 0] = '\0';
    close(ends[0]);
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
        char says[512], at[64];
        snprintf(at, sizeof at, " %p, memory that it may not touch: ", inside[i]);
        assert_int_equal(signal_of_touch(inside[i], false, says, sizeof says), SIGSEGV);
        assert_non_null(strstr(says, at));
        assert_int_equal(signal_of_touch(inside[i], true, says, sizeof says), SIGSEGV);
        assert_non_null(strstr(says, at));
#ifdef __x86_64__
        assert_non_null(strstr(says, "the host wrote"));
#endif
    }
    char says[512];
    assert_int_equal(signal_of_touch(wl_plan_input(p, g->tensors[0]), true, says, sizeof says), 0);
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
    assert_false(best->row.by_name);
    assert_int_equal(wl_backend_find("boxed", &best, NULL), 0);
    assert_true(best->row.by_name);
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

/* ---- a run that a step fails ---- */

static struct wl_plan *plan_of_fields(struct wl_tensor **target)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(2, 4));
    *target = wl_input(g, "target", WL_F32, WL_DIMS(2, 4));
    wl_relative_l2(g, "loss", wl_linear(g, "fc", x, 4), *target, (struct wl_loss) { 0 });
    struct wl_plan *p = NULL;
    assert_int_equal(wl_plan_new(&p, g, &(struct wl_plan_opts) { .backend = "boxed" }, NULL, a, NULL), 0);
    return p;
}

/* The plan ends what it has begun, in a recorded run and in one that is replayed. */
static void test_a_plan_runs_on_after_a_step_has_failed(void **state)
{
    (void)state;
    struct wl_tensor *t;
    struct wl_plan *p = plan_of_fields(&t);
    float *target = wl_plan_input(p, t);
    for (int k = 0; k < 4; k++) {
        const bool fails = k % 2 == 0;
        struct wl_err e = { 0 };
        for (int i = 0; i < 8; i++) target[i] = fails ? 0 : 1;
        assert_int_equal(train(p, true, true, &e), fails ? WL_EINVAL : 0);
        if (fails) assert_string_equal(e.msg, "loss (forward): a target is 0 everywhere");
        if (!fails) assert_int_equal(wl_plan_update(p, 0.1, &e), 0);
    }
}

/* ---- what the device itself refuses ---- */

struct device {
    const struct wl_device_ops *ops;
    void *of;
    struct wl_plan *plan;
    struct wl_run run;
    const struct wl_step *step;
    int calls;
};

static struct device device(void)
{
    struct wl_plan *p = boxed();
    return (struct device) {
        .ops = p->ops, .of = p->program.device, .plan = p, .run = { .training = true, .first = true }, .calls = 1
    };
}

static int begin(struct device *d)
{
    return d->ops->begin(d->of, &d->run, &d->plan->io, &(struct wl_counts) { 0 }, NULL);
}

static int end(struct device *d) { return d->ops->end(d->of, &d->plan->io, &(struct wl_counts) { 0 }, NULL); }

static int roundings(void *of, struct wl_err *e)
{
    struct device *d = of;
    int rc = 0;
    for (int i = 0; i < d->calls && !rc; i++) rc = d->ops->round(d->of, d->plan->param + i, 1, WL_BF16, e);
    return rc;
}

static int run(struct device *d, enum wl_variant v, struct wl_err *e)
{
    int rc = begin(d);
    if (!rc) rc = d->ops->run(d->of, v, roundings, d, e);
    return end(d) | rc;
}

static void test_calls_out_of_order_are_refused(void **state)
{
    (void)state;
    struct device d = device();
    const struct wl_optim_ops *kind = d.plan->optim_ops;
    assert_int_equal(roundings(&d, NULL), WL_EINVAL);
    assert_int_equal(d.ops->run(d.of, WL_RUN_FIRST, roundings, &d, NULL), WL_EINVAL);
    assert_int_equal(end(&d), WL_EINVAL);
    assert_int_equal(d.ops->wait(d.of, 0, NULL), WL_EINVAL);
    assert_int_equal(begin(&d), 0);
    assert_int_equal(begin(&d), WL_EINVAL);
    assert_int_equal(roundings(&d, NULL), WL_EINVAL);
    assert_int_equal(d.ops->update(d.of, kind, &d.plan->optim, d.plan->spans, 1, 0, NULL), WL_EINVAL);
    assert_int_equal(d.ops->update_statistics(d.of, NULL, 0, 1, NULL), WL_EINVAL);
    assert_int_equal(end(&d), 0);
    assert_int_equal(d.ops->update(d.of, kind, &d.plan->optim, d.plan->spans, 1, 0, NULL), 0);
}

static void test_a_run_that_differs_from_its_recording_is_refused(void **state)
{
    (void)state;
    struct device d = device();
    struct wl_err e = { 0 };
    d.calls = 2;
    assert_int_equal(run(&d, WL_RUN_FIRST, &e), 0);
    assert_int_equal(run(&d, WL_RUN_FIRST, &e), 0);
    d.calls = 3;
    assert_int_equal(run(&d, WL_RUN_FIRST, &e), WL_EINVAL);
    assert_string_equal(e.msg, "call 2 of the run differs from that of the recorded run, which has 2");
    d.calls = 1;
    assert_int_equal(run(&d, WL_RUN_FIRST, &e), WL_EINVAL);
    assert_string_equal(e.msg, "1 calls in the run, 2 in the recorded run");
    assert_int_equal(run(&d, WL_RUN_FIRST_LAST, &e), 0);
    assert_int_equal(run(&d, WL_RUN_LAST, &e), WL_EINVAL);
    assert_string_equal(e.msg, "a run of training, the first micro-batch as variant 3");
    assert_int_equal(run(&d, WL_RUN_EVAL, &e), WL_EINVAL);
}

static int one_step(void *of, struct wl_err *e)
{
    const struct device *d = of;
    return d->ops->step(d->of, d->step, e);
}

static int run_nothing(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)s, (void)e;
    return r->update == 7 && r->first_sample == 5 && r->first ? 0 : WL_EIO;
}

static int run_step_at(struct device *d, enum wl_variant v, void *at, void *partial_at)
{
    struct wl_buf buf = { .at = at }, partial = { .at = partial_at };
    const struct wl_node *n = d->plan->program.graph->nodes[0];
    const struct wl_step s = {
        .node = n, .pass = "forward", .n_uses = 1, .uses = { { &buf, &partial, false, true } }, .run = run_nothing
    };
    d->step = &s;
    int rc = begin(d);
    if (!rc) rc = d->ops->run(d->of, v, one_step, d, NULL);
    return end(d) | rc;
}

/* Steps find what begin was given, and buffers at multiples of the device's alignment. */
static void test_a_step_is_given_the_run_and_aligned_buffers(void **state)
{
    (void)state;
    struct device d = device();
    d.run.update = 7;
    d.run.first_sample = 5;
    char *at = (char *)d.plan->param;
    assert_int_equal(run_step_at(&d, WL_RUN_FIRST, at, at), 0);
    assert_int_equal(run_step_at(&d, WL_RUN_FIRST_LAST, at + WL_ALIGN, at), WL_EINVAL);
    assert_int_equal(run_step_at(&d, WL_RUN_FIRST_LAST, at, at + WL_ALIGN), WL_EINVAL);
    struct wl_optim_span span = d.plan->spans[0];
    span.g += WL_ALIGN / sizeof(float);
    assert_int_equal(d.ops->update(d.of, d.plan->optim_ops, &d.plan->optim, &span, 1, 0, NULL), WL_EINVAL);
}

static struct wl_run run_of(struct wl_plan *p) { return ((struct wl_host *)p->program.device)->run; }

/* The device knows what run it is from begin alone. */
static void test_begin_is_given_what_changes_from_run_to_run(void **state)
{
    (void)state;
    static const char *const backends[] = { "ref", "boxed" };
    for (size_t i = 0; i < WL_COUNT(backends); i++) {
        struct wl_plan *p = plan((struct wl_plan_opts) { .backend = backends[i], .micro_batches = 2 }, NULL);
        for (int u = 0; u < 2; u++) {
            for (int m = 0; m < 2; m++) {
                assert_int_equal(train(p, m == 0, m == 1, NULL), 0);
                const struct wl_run r = run_of(p);
                assert_true(r.training && r.first == (m == 0) && r.counts == p->io.counts);
                assert_int_equal(r.update, u);
                assert_int_equal(r.first_sample, m * BATCH);
            }
            assert_int_equal(wl_plan_update(p, 0.1, NULL), 0);
        }
        assert_int_equal(wl_plan_eval(p, NULL, NULL), 0);
        assert_false(run_of(p).training);
    }
}

struct copying {
    struct device device;
    float to[4];
};

static int one_copy(void *of, struct wl_err *e)
{
    struct copying *c = of;
    return c->device.ops->get_async(c->device.of, c->to, c->device.plan->param, sizeof c->to, 0, e);
}

/* Until the plan has waited for a copy, it finds NANs. */
static void test_a_copy_arrives_when_it_is_waited_for(void **state)
{
    (void)state;
    struct copying c = { .device = device() };
    struct device *d = &c.device;
    float want[4];
    assert_int_equal(d->ops->get(d->of, want, d->plan->param, sizeof want, NULL), 0);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(begin(d), 0);
        assert_int_equal(d->ops->wait(d->of, 0, NULL), WL_EINVAL);
        assert_int_equal(d->ops->run(d->of, WL_RUN_FIRST, one_copy, &c, NULL), 0);
        assert_true(isnan(c.to[0]) && isnan(c.to[3]));
        assert_int_equal(d->ops->wait(d->of, 0, NULL), 0);
        assert_memory_equal(c.to, want, sizeof want);
        assert_int_equal(end(d), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(test_host_access_to_plan_memory_faults),
        WITH_ARENA(test_plan_in_host_memory_uses_inputs_in_place),
        WITH_ARENA(test_boxed_is_chosen_by_name_only),
        WITH_ARENA(test_run_errors_equal_those_of_ref),
        WITH_ARENA(test_a_plan_runs_on_after_a_step_has_failed),
        WITH_ARENA(test_calls_out_of_order_are_refused),
        WITH_ARENA(test_a_run_that_differs_from_its_recording_is_refused),
        WITH_ARENA(test_a_step_is_given_the_run_and_aligned_buffers),
        WITH_ARENA(test_begin_is_given_what_changes_from_run_to_run),
        WITH_ARENA(test_a_copy_arrives_when_it_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
