/* The device of back-end gpu over the fakes: memory, runs, optimizers, and what users see where something is missing or
 * fails. */
#include "nn/host/host.h"
#include "nn/nn.h"
#include "nn/plan/internal.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct wl_arena *a;

static int set_up(void **state)
{
    (void)state;
    unsetenv("WATTLAW_FAKE_GPU");
    a = wl_arena_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wl_arena_free(a);
    return 0;
}

/* x [4,3] against a target. */
static int new_plan(struct wl_plan **out, struct wl_err *e)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(4, 3)), *t = wl_input(g, "t", WL_F32, WL_DIMS(4, 3));
    wl_want_gradient(g, x);
    wl_mean_square(g, "loss", wl_relu(g, "relu", x), t, (struct wl_loss) { .weight = 1 });
    return wl_plan_new(out, g, &(struct wl_plan_opts) { .backend = "gpu" }, NULL, a, e);
}

static struct wl_plan *plan(void)
{
    struct wl_plan *p = NULL;
    struct wl_err e = { 0 };
    if (new_plan(&p, &e)) fail_msg("%s", e.msg);
    return p;
}

static long count(const char *what)
{
    void *fake = dlopen(getenv("CUDA_DRIVER_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
    long (*f)(const char *) = NULL;
    void *found = fake ? dlsym(fake, "wl_fake_count") : NULL;
    memcpy(&f, &found, sizeof f);
    const long n = f ? f(what) : -1;
    if (fake) dlclose(fake);
    assert_true(n >= 0);
    return n;
}

/* ---- memory ---- */

static void test_host_touch_of_device_memory_faults(void **state)
{
    (void)state;
    const struct wl_plan *p = plan();
    int status;
    const pid_t pid = fork();
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        setrlimit(RLIMIT_CORE, &(struct rlimit) { 0, 0 });
        _exit(*(volatile char *)p->memory);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static float *device_floats(const struct wl_plan *p, const float *from, size_t n)
{
    void *at;
    struct wl_err e;
    if (p->ops->memory(p->program.device, n * sizeof *from, "a test", &at, &e)) fail_msg("%s", e.msg);
    if (from) assert_int_equal(p->ops->put(p->program.device, at, from, n * sizeof *from, &e), 0);
    return at;
}

static void test_memory_starts_as_zeros(void **state)
{
    (void)state;
    const struct wl_plan *p = plan();
    float got[1000];
    const float *at = device_floats(p, NULL, 1000);
    assert_int_equal((uintptr_t)at % p->ops->align, 0);
    assert_int_equal(p->ops->get(p->program.device, got, at, sizeof got, NULL), 0);
    for (int i = 0; i < 1000; i++) assert_true(got[i] == 0);
}

/* ---- runs ---- */

static void fill(struct wl_plan *p, float scale)
{
    const struct wl_graph *g = p->program.graph;
    for (size_t i = 0; i < 2; i++)
        for (int k = 0; k < 12; k++) ((float *)wl_plan_input(p, g->tensors[i]))[k] = scale * (float)(k - 4) + (float)i;
}

static float train(struct wl_plan *p, float scale)
{
    struct wl_counts c = { 0 };
    struct wl_err e;
    fill(p, scale);
    if (wl_plan_train(p, true, true, &c, &e)) fail_msg("%s", e.msg);
    assert_int_equal(c.samples, 4);
    return (float)(c.loss_sum / 4);
}

/* relu(s k) - s k - 1 for k = -4 ... 7: of 12, four are -s k - 1 and eight -1. */
static float expected(float scale)
{
    float sum = 0;
    for (int k = -4; k < 8; k++) {
        const float y = scale * (float)k > 0 ? scale * (float)k : 0, d = y - scale * (float)k - 1;
        sum += d * d;
    }
    return sum / 12;
}

/* The second run is captured, later ones are replayed: with other inputs, without an allocation, one wait each. */
static void test_runs_are_captured_and_replayed(void **state)
{
    (void)state;
    struct wl_plan *p = plan();
    for (int i = 1; i < 3; i++) assert_true(fabsf(train(p, (float)i) - expected((float)i)) < 1e-4f);
    const long graphs = count("graphs"), allocations = count("allocations"), waits = count("waits");
    for (int i = 3; i < 6; i++) assert_true(fabsf(train(p, (float)i) - expected((float)i)) < 1e-3f);
    assert_int_equal(count("graphs") - graphs, 3);
    assert_int_equal(count("allocations"), allocations);
    assert_int_equal(count("waits") - waits, 3);
}

/* Inputs of a run are filled and go up while the run before it computes, in training and in evaluation: no allocation,
 * and no wait that has to wait. */
static void test_inputs_go_up_while_a_run_computes(void **state)
{
    (void)state;
    struct wl_plan *p = plan();
    struct wl_counts c[2] = { { 0 } };
    struct wl_err e;
    assert_true(wl_plan_overlaps(p));
    fill(p, 1);
    for (int i = 1; i < 12; i++) {
        const long launches = count("launches");
        c[0] = (struct wl_counts) { 0 };
        if (i % 4 ? wl_plan_start_train(p, true, true, c, &e) : wl_plan_start_eval(p, c, &e)) fail_msg("%s", e.msg);
        assert_int_equal(wl_plan_start_eval(p, &c[1], &e), WL_EINVAL);
        const float *read = wl_plan_run_input(p, p->program.graph->tensors[0]);
        assert_true(read[5] == (float)i);
        if (wl_plan_next_inputs(p, &e)) fail_msg("%s", e.msg);
        fill(p, (float)(i + 1));
        if (i % 3 && wl_plan_upload(p, (i + 1) % 4, &e)) fail_msg("%s", e.msg);
        assert_int_equal(count("launches"), launches); /* nobody has waited for the run */
        if (wl_plan_finish(p, &e)) fail_msg("%s", e.msg);
        assert_true(read[5] == (float)i);
        assert_true(fabs(c[0].loss_sum / 4 - (double)expected((float)i)) < 1e-3);
        if (i % 2 && i % 4 && wl_plan_update(p, 0.1, &e)) fail_msg("%s", e.msg);
    }
    if (wl_plan_upload(p, true, &e)) fail_msg("%s", e.msg); /* which no run reads: the plan's end waits for it */
}

/* A slot whose copy no run has taken: the host may fill it when the copy is done, which the fake checks. */
static void test_a_slot_is_filled_after_its_upload(void **state)
{
    (void)state;
    struct wl_plan *p = plan();
    struct wl_err e;
    for (int i = 1; i < 5; i++) {
        fill(p, (float)i);
        if (wl_plan_upload(p, true, &e) || wl_plan_next_inputs(p, &e)) fail_msg("%s", e.msg);
    }
    assert_true(fabsf(train(p, 5) - expected(5)) < 1e-3f);
}

struct sums {
    const struct wl_plan *plan;
    float *sum, *part, *host;
    size_t n;
};

static int enqueue_sums(void *of, struct wl_err *e)
{
    const struct sums *s = of;
    const struct wl_device_ops *ops = s->plan->ops;
    void *device = s->plan->program.device;
    int rc = ops->add(device, s->sum, s->part, s->n, e);
    for (size_t i = 0; i < 2 && !rc; i++)
        rc = ops->get_async(device, s->host + i * s->n / 2, s->sum + i * s->n / 2, s->n / 2 * sizeof(float), i, e);
    return rc ? rc : ops->add(device, s->part, s->part, s->n, e);
}

/* What get_async gives is what the device had then, in page-locked memory and in other. */
static void copies_arrive(bool page_locked)
{
    struct wl_plan *p = plan();
    enum { N = 5000 };
    static float ones[N], other[N];
    struct sums s = { .plan = p, .n = N, .host = other };
    struct wl_err e;
    for (int i = 0; i < N; i++) ones[i] = 1;
    s.sum = device_floats(p, NULL, N);
    s.part = device_floats(p, ones, N);
    if (page_locked)
        assert_int_equal(p->ops->host_memory(p->program.device, sizeof ones, "a test", (void **)&s.host, &e), 0);
    float want = 0, part = 1;
    for (int run = 0; run < 4; run++, part *= 2) {
        const struct wl_run r = { .training = true };
        want += part;
        if (p->ops->begin(p->program.device, &r, &p->io, &(struct wl_counts) { 0 }, &e)) fail_msg("%s", e.msg);
        if (p->ops->run(p->program.device, WL_RUN_TRAIN, enqueue_sums, &s, &e)) fail_msg("%s", e.msg);
        for (size_t i = 0; i < 2; i++) {
            if (p->ops->wait(p->program.device, i, &e)) fail_msg("%s", e.msg);
            for (size_t k = i * N / 2; k < (i + 1) * N / 2; k++) assert_true(s.host[k] == want);
        }
        if (p->ops->end(p->program.device, &p->io, &(struct wl_counts) { 0 }, &e)) fail_msg("%s", e.msg);
    }
}

static void test_copies_within_a_run_arrive(void **state)
{
    (void)state;
    copies_arrive(true);
    copies_arrive(false);
}

static void test_steps_are_timed(void **state)
{
    (void)state;
    struct wl_plan *p = plan();
    struct wl_step_time time[16] = { 0 };
    double sum = 0;
    p->step_time = time;
    for (int i = 1; i < 4; i++) train(p, (float)i);
    for (int i = 0; i < 16; i++) sum += time[i].wall_s;
    assert_true(sum > 0 && sum < 10);
}

/* ---- optimizers ---- */

enum { SPANS = 70, MOST = 6000 };

/* Odd sizes, more spans than one launch takes, one span larger than a block's share. */
static size_t span_size(size_t i) { return i == 3 ? MOST : 1 + i * 7 % 64; }

enum { ROOM = MOST + SPANS * 64 };

/* Span i of w, g and two slots, on the host; `at` is where it begins. */
static struct wl_optim_span host_span(float *of[4], size_t i, size_t at)
{
    for (size_t k = 0; k < 4; k++)
        for (size_t j = at; j < at + span_size(i); j++) {
            const float v = (float)wl_random_normal(i, k, j);
            of[k][j] = k == 3 ? fabsf(v) : v; /* slot 1 is a mean of squares */
        }
    return (struct wl_optim_span) { .w = of[0] + at,
                                    .g = of[1] + at,
                                    .slot = { of[2] + at, of[3] + at },
                                    .n = span_size(i),
                                    .scale = 0.25f,
                                    .decay = i % 2 ? 0.1f : 0,
                                    .step = 3 };
}

static void check_optimizer(struct wl_plan *p, struct wl_optim o)
{
    const struct wl_optim_ops *kind;
    struct wl_optim_span on_device[SPANS], on_host[SPANS];
    float *host[4], *device[4], *got = wl_new_array(a, float, ROOM);
    size_t end = 0;
    struct wl_err e;
    assert_int_equal(wl_optim_init(&o, &kind, &e), 0);
    for (int k = 0; k < 4; k++) host[k] = wl_new_array(a, float, ROOM);
    for (size_t i = 0; i < SPANS; i++) {
        on_host[i] = host_span(host, i, end);
        end += span_size(i);
    }
    for (int k = 0; k < 4; k++) device[k] = device_floats(p, host[k], end);
    for (size_t i = 0, at = 0; i < SPANS; at += span_size(i++)) {
        on_device[i] = on_host[i];
        on_device[i].w = device[0] + at;
        on_device[i].g = device[1] + at;
        for (int k = 0; k < 2; k++) on_device[i].slot[k] = device[2 + k] + at;
    }
    if (p->ops->update(p->program.device, kind, &o, on_device, SPANS, 0.01, &e)) fail_msg("%s", e.msg);
    for (size_t i = 0; i < SPANS; i++) wl_host_update(&(struct wl_host) { 0 }, kind, &o, &on_host[i], 0.01);
    assert_int_equal(p->ops->get(p->program.device, got, device[0], end * sizeof *got, &e), 0);
    for (size_t j = 0; j < end; j++)
        if (fabsf(got[j] - host[0][j]) > 1e-6f * (1 + fabsf(got[j])))
            fail_msg("%s: number %zu is %g, expected %g", kind->name, j, (double)got[j], (double)host[0][j]);
}

static void test_optimizers_equal_those_of_the_host(void **state)
{
    (void)state;
    struct wl_plan *p = plan();
    check_optimizer(p, (struct wl_optim) { .kind = "sgd", .momentum = 0.9 });
    check_optimizer(p, (struct wl_optim) { .kind = "sgd", .momentum = 0.5, .nesterov = true });
    check_optimizer(p, (struct wl_optim) { .kind = "adam" });
    check_optimizer(p, (struct wl_optim) { .kind = "adamw" });
}

static void test_statistics_move_towards_the_mean(void **state)
{
    (void)state;
    struct wl_plan *p = plan();
    enum { N = 300 };
    float running[N], sum[N];
    for (int i = 0; i < N; i++) running[i] = 1, sum[i] = (float)i;
    const struct wl_tensor t = { .dims = WL_DIMS(N), .momentum = 0.1 };
    struct wl_buf of_running = { .at = device_floats(p, running, N) }, of_sum = { .at = device_floats(p, sum, N) };
    const struct wl_statistic s = { &t, &of_running, &of_sum };
    assert_int_equal(p->ops->update_statistics(p->program.device, &s, 1, 2, NULL), 0);
    assert_int_equal(p->ops->get(p->program.device, running, of_running.at, sizeof running, NULL), 0);
    for (int i = 0; i < N; i++) assert_true(fabsf(running[i] - (1 + 0.1f * ((float)i / 2 - 1))) < 1e-5f);
}

/* ---- what users see ---- */

static void check_refusal(const char *settings, int code, const char *says)
{
    struct wl_plan *p;
    struct wl_err e = { 0 };
    setenv("WATTLAW_FAKE_GPU", settings, 1);
    const int rc = new_plan(&p, &e);
    unsetenv("WATTLAW_FAKE_GPU");
    if (rc != code || !strstr(e.msg, says))
        fail_msg("%s: %d, '%s', expected %d, '%s'", settings, rc, e.msg, code, says);
}

static void test_refusals_say_why(void **state)
{
    (void)state;
    check_refusal("version=11080", WL_EUNAVAIL, "the driver serves CUDA 11.8, training needs 12.0");
    check_refusal("init=100", WL_EUNAVAIL, "no CUDA-capable device is detected (100)");
    check_refusal("init=803", WL_EUNAVAIL, "restart the machine after an update of the driver");
    check_refusal("devices=0", WL_EUNAVAIL, "no CUDA-capable device");
    check_refusal("capability=60", WL_EUNAVAIL, "compute capability 6.0; f32 needs 7.0");
    check_refusal("used_mb=4096", WL_ENOMEM, "0 B of 4.29 GB free on simulated GPU");
}

static void test_no_driver_says_what_to_install(void **state)
{
    (void)state;
    struct wl_plan *p;
    struct wl_err e = { 0 };
    const char *library = getenv("CUDA_DRIVER_LIBRARY");
    setenv("CUDA_DRIVER_LIBRARY", "/proc/nowhere/libcuda.so.1", 1);
    assert_int_equal(new_plan(&p, &e), WL_EUNAVAIL);
    setenv("CUDA_DRIVER_LIBRARY", library, 1);
    assert_non_null(strstr(e.msg, "back-end gpu needs NVIDIA's driver (525 or newer)"));
}

static void test_no_kernels_says_where_they_were_looked_for(void **state)
{
    (void)state;
    struct wl_plan *p;
    struct wl_err e = { 0 };
    const char *kernels = wl_strdup(a, getenv("WATTLAW_KERNELS"));
    setenv("WATTLAW_KERNELS", "/proc/nowhere", 1);
    assert_int_equal(new_plan(&p, &e), WL_EUNAVAIL);
    assert_string_equal(e.msg, "$WATTLAW_KERNELS: /proc/nowhere is not a file");
    unsetenv("WATTLAW_KERNELS");
    assert_int_equal(new_plan(&p, &e), WL_EUNAVAIL);
    assert_non_null(strstr(e.msg, "/kernels.fatbin"));
    setenv("WATTLAW_KERNELS", "/proc/self/status", 1);
    assert_int_equal(new_plan(&p, &e), WL_EUNAVAIL);
    setenv("WATTLAW_KERNELS", kernels, 1);
}

/* kernels.fatbin has images of a V100 beside those of nvcc. */
static void test_images_for_other_gpus_are_passed_over(void **state)
{
    (void)state;
    static const uint8_t other[] = { 0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 4, 0, 0, 0, 0, 0, 0, 0, 'c', 'o', 'd', 'e' };
    const char *kernels = wl_strdup(a, getenv("WATTLAW_KERNELS")), *both = "both.kernels";
    char *sim;
    size_t n;
    struct wl_err e = { 0 };
    assert_int_equal(wl_file_read(kernels, 1 << 20, &sim, &n, a, &e), 0);
    FILE *f = fopen(both, "wb");
    assert_true(f && fwrite(other, sizeof other, 1, f) == 1 && fwrite(sim, n, 1, f) == 1 && !fclose(f));
    setenv("WATTLAW_KERNELS", both, 1);
    train(plan(), 1);
    assert_int_equal(truncate(both, sizeof other), 0);
    struct wl_plan *p;
    assert_int_equal(new_plan(&p, &e), WL_EUNAVAIL);
    assert_string_equal(e.msg, "both.kernels: no kernels for simulated GPU (compute capability 9.0) in it");
    setenv("WATTLAW_KERNELS", kernels, 1);
    assert_int_equal(unlink(both), 0);
}

/* The run that meets the failure says so, and so do all that follow; what the host holds stays. The last test: the fake
 * GPU does not recover. */
static void test_a_gpu_that_fails_in_a_step(void **state)
{
    (void)state;
    struct wl_plan *p = plan();
    struct wl_err e = { 0 };
    struct wl_counts c = { .samples = 7 };
    train(p, 1);
    setenv("WATTLAW_FAKE_GPU", wl_strf(a, "fault=214;fault_at=%ld", count("launches") + 2), 1);
    assert_int_equal(wl_plan_train(p, true, true, &c, &e), WL_ELIB);
    assert_non_null(strstr(e.msg, "uncorrectable ECC error"));
    assert_non_null(strstr(e.msg, "nvidia-smi --gpu-reset"));
    assert_int_equal(c.samples, 7);
    assert_int_equal(wl_plan_update(p, 0.1, &e), WL_ELIB);
    assert_int_equal(wl_plan_eval(p, &c, &e), WL_ELIB);
}

/* A slot that is filled before its upload is done: the fakes find it. In a process of its own: the GPU fails. */
static void test_a_slot_that_is_filled_too_early(void **state)
{
    (void)state;
    const pid_t pid = fork();
    int status;
    if (pid == 0) {
        struct wl_plan *p = plan();
        struct wl_err e;
        fill(p, 1);
        int rc = wl_plan_upload(p, true, &e);
        fill(p, 2);
        rc = rc ? 2 : wl_plan_train(p, true, true, &(struct wl_counts) { 0 }, &e) == WL_ELIB ? 0 : 3;
        _exit(rc);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_slot_that_is_filled_too_early, set_up, tear_down), /* before cuInit */
        cmocka_unit_test_setup_teardown(test_host_touch_of_device_memory_faults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory_starts_as_zeros, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_runs_are_captured_and_replayed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_inputs_go_up_while_a_run_computes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_slot_is_filled_after_its_upload, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copies_within_a_run_arrive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_steps_are_timed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_optimizers_equal_those_of_the_host, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_statistics_move_towards_the_mean, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals_say_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_driver_says_what_to_install, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_images_for_other_gpus_are_passed_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_kernels_says_where_they_were_looked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_gpu_that_fails_in_a_step, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
