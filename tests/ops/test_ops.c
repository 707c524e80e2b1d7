/* Every operation: gradients against finite differences, and a back-end against nn/ref, on random shapes: test_ops
 * [cpu|gpu [CASES|all]]. gpu is given the fakes of CUDA by the environment. A failure prints the line that runs its
 * case alone: test_ops OPERATION NUMBER gradient|f32|bf16|gpu-f32|gpu-bf16|gpu-f16. */
#include "cases.h"
#include "cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct op_family *const families[] = { &image_ops, &field_ops, &sequence_ops, &row_ops, &loss_ops };

/* What is tested of an operation. */
enum test { TEST_GRADIENT, TEST_F32, TEST_BF16, TEST_GPU_F32, TEST_GPU_BF16, TEST_GPU_F16, TESTS };
static const struct {
    const char *name, *backend; /* backend NULL: ref alone */
    enum wl_dtype precision;
} tests[TESTS] = {
    [TEST_GRADIENT] = { "gradient", NULL, WL_F32 },   [TEST_F32] = { "f32", "cpu", WL_F32 },
    [TEST_BF16] = { "bf16", "cpu", WL_BF16 },         [TEST_GPU_F32] = { "gpu-f32", "gpu", WL_F32 },
    [TEST_GPU_BF16] = { "gpu-bf16", "gpu", WL_BF16 }, [TEST_GPU_F16] = { "gpu-f16", "gpu", WL_F16 },
};

/* A case, or all of an operation. */
struct subject {
    enum test test;
    const struct op_family *family;
    const struct op_case *op;
    uint64_t number; /* alone: of the case; of gpu: how many */
};

/* Under AddressSanitizer and by clang every third shape; gcc's optimised build runs them all. */
#if defined(__SANITIZE_ADDRESS__) || defined(__clang__)
enum { EVERY = 3 };
#else
enum { EVERY = 1 };
#endif

/* Of gpu the first cases from 1 on, where there are as many: a simulated kernel takes long. Of f16 fewer: its kernels
 * are those of bf16 for another type. So are those of f32, whose addresses and branches AddressSanitizer and clang see.
 */
enum { GPU_CASES = 3, F16_CASES = 1, BF16_CASES = EVERY == 1 ? GPU_CASES : 1 };

static bool on_gpu(enum test test) { return test >= TEST_GPU_F32; }

static void need(enum test test)
{
    struct wl_err e = { 0 };
    if (!tests[test].backend || !wl_backend_precision(tests[test].backend, tests[test].precision, true, &e)) return;
    printf("SKIP: %s\n", e.msg);
    skip();
}

static void run(const struct subject *s, uint64_t number)
{
    if (tests[s->test].backend)
        run_backend_case(s->family, s->op, number, tests[s->test].backend, tests[s->test].precision);
    else
        run_gradient_case(s->family, s->op, number);
}

static uint64_t cases_of(const struct subject *s)
{
    if (s->number != GPU_CASES) return s->number;
    return s->test == TEST_GPU_F16 ? F16_CASES : s->test == TEST_GPU_BF16 ? BF16_CASES : GPU_CASES;
}

static void test_op(void **state)
{
    const struct subject *s = *state;
    const bool gpu = on_gpu(s->test);
    const uint64_t end = gpu && s->number < s->family->cases ? 1 + cases_of(s) : s->family->cases;
    need(s->test);
    for (uint64_t i = gpu; i < end; i += gpu ? 1 : EVERY) run(s, i);
}

static void test_alone(void **state)
{
    const struct subject *s = *state;
    need(s->test);
    run(s, s->number);
}

static void mark_ops(const struct op_family *f, bool has_case[WL_OP_COUNT], struct wl_arena *a)
{
    for (size_t i = 0; i < f->n_ops; i++) {
        const struct twin t = case_twin(f, &f->ops[i], 0, (struct wl_plan_opts) { .backend = "ref" }, a);
        has_case[t.y->producer->op] = true;
    }
}

/* An operation that has no row here has no test of its gradient. */
static void test_each_operation_of_the_table_has_a_case(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    bool has_case[WL_OP_COUNT] = { false };
    for (size_t i = 0; i < WL_COUNT(families); i++) mark_ops(families[i], has_case, a);
    for (int op = 0; op < WL_OP_COUNT; op++)
        if (!has_case[op] && !wl_op_info((enum wl_op)op)->no_backward)
            fail_msg("%s has no case in tests/ops/cases_*.c", wl_op_name((enum wl_op)op));
    wl_arena_free(a);
}

static int run_alone(const char *name, const char *number, const char *test)
{
    struct subject s = { .number = strtoull(number, NULL, 10) };
    while (s.test < TESTS && strcmp(test, tests[s.test].name)) s.test++;
    for (size_t i = 0; i < WL_COUNT(families) && !s.op; i++) {
        s.family = families[i];
        s.op = find_case(families[i], name);
    }
    if (!s.op || s.test == TESTS) {
        printf("no operation %s or no test %s\n", name, test);
        return 2;
    }
    const struct CMUnitTest one[] = { cmocka_unit_test_prestate(test_alone, &s) };
    return cmocka_run_group_tests(one, NULL, NULL);
}

/* Of all operations; returns how many. */
static size_t add_tests(struct CMUnitTest *to, enum test test, uint64_t gpu_cases, struct wl_arena *a)
{
    size_t n = 0;
    for (size_t i = 0; i < WL_COUNT(families); i++)
        for (size_t k = 0; k < families[i]->n_ops; k++) {
            struct subject *s = wl_new(a, struct subject);
            *s = (struct subject) { test, families[i], &families[i]->ops[k], gpu_cases };
            const char *name = wl_strf(a, "%s %s", s->op->name, tests[test].name);
            to[n++] = (struct CMUnitTest) { name, test_op, NULL, NULL, s };
        }
    return n;
}

/* "all": more than there are. */
static uint64_t gpu_cases_of(const char *text)
{
    if (!text) return GPU_CASES;
    return strcmp(text, "all") ? strtoull(text, NULL, 10) : UINT64_MAX;
}

/* A GPU makes a context in a good part of a second, and ends it with the last plan: it is kept between cases. */
static void keep_context(struct wl_arena *a)
{
    struct wl_cuda cuda;
    CUcontext context;
    if (!wl_cuda_open(&cuda, NULL, a, NULL) && !cuda.Init(0)) cuda.DevicePrimaryCtxRetain(&context, 0);
}

int main(int argc, char **argv)
{
    if (argc > 3) return run_alone(argv[1], argv[2], argv[3]);
    const bool gpu = argc > 1 && !strcmp(argv[1], "gpu");
    size_t n = 1;
    for (size_t i = 0; i < WL_COUNT(families); i++) n += TESTS * families[i]->n_ops;
    struct wl_arena *a = wl_arena_new(NULL);
    if (gpu) keep_context(a);
    struct CMUnitTest *all = wl_new_array(a, struct CMUnitTest, n);
    all[0] = (struct CMUnitTest)cmocka_unit_test(test_each_operation_of_the_table_has_a_case);
    size_t at = 1;
    for (int test = 0; test < TESTS; test++)
        if (on_gpu((enum test)test) == gpu)
            at += add_tests(all + at, (enum test)test, gpu_cases_of(argc > 2 ? argv[2] : NULL), a);
    int failed = _cmocka_run_group_tests("cases", all, at, NULL, NULL);
    wl_arena_free(a);
    return failed;
}
