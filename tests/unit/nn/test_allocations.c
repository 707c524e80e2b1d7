/* A training step, an update and an evaluation allocate nothing. Our objects are linked so that their calls of the
 * allocator pass the counters below. oneDNN makes small blocks of its own in each call (an argument map) and gives
 * them back; the heap as a whole must not have grown after many steps. */
#include "models/models.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static int calls;

#define COUNTED(name, result, parameters, arguments) \
    result __real_##name parameters;                 \
    result __wrap_##name parameters;                 \
    result __wrap_##name parameters                  \
    {                                                \
        calls++;                                     \
        return __real_##name arguments;              \
    }

COUNTED(malloc, void *, (size_t n), (n))
COUNTED(calloc, void *, (size_t n, size_t size), (n, size))
COUNTED(realloc, void *, (void *p, size_t n), (p, n))
COUNTED(aligned_alloc, void *, (size_t align, size_t n), (align, n))
COUNTED(posix_memalign, int, (void **p, size_t align, size_t n), (p, align, n))
COUNTED(mmap, void *, (void *at, size_t n, int prot, int flags, int fd, off_t offset), (at, n, prot, flags, fd, offset))

static size_t heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static void step(struct wl_plan *p)
{
    struct wl_counts c = { 0 };
    for (int m = 0; m < 2; m++) assert_int_equal(wl_plan_train(p, m == 0, m == 1, &c, NULL), 0);
    assert_int_equal(wl_plan_update(p, 0.01, NULL), 0);
    assert_int_equal(wl_plan_average_statistics(p, NULL), 0);
    assert_int_equal(wl_plan_eval(p, &c, NULL), 0);
}

static void no_allocations(const char *model, int64_t pixels, const char *backend, enum wl_dtype precision, int steps)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_graph *g = wl_graph_new(a);
    struct wl_model_net net;
    struct wl_err e = { 0 };
    struct wl_plan *p;
    bool ref = wl_streq(backend, "ref");
    struct wl_model_opts size = { .size = "tiny", .batch = ref ? 1 : 2, .image_size = pixels, .classes = 5 };
    if (wl_model_find(model)->build(g, &size, &net, &e)) fail_msg("%s", e.msg);
    struct wl_plan_opts o = { .backend = backend, .precision = precision, .slow_bf16 = true, .micro_batches = 2 };
    if (wl_plan_new(&p, g, &o, NULL, a, &e)) {
        if (e.code == WL_EUNAVAIL) skip();
        fail_msg("%s", e.msg);
    }
    assert_true(calls > 0); /* the counters count */
    /* The OpenMP runtime starts its threads, and malloc's caches of small blocks fill. */
    for (int i = 0; i < (ref ? 2 : 16); i++) step(p);
    int before = calls;
    size_t heap = heap_bytes();
    for (int i = 0; i < steps; i++) step(p);
    assert_int_equal(calls, before);
    assert_int_equal(heap_bytes(), heap);
    wl_arena_free(a);
}

static void test_cpu(void **state)
{
    (void)state;
    no_allocations("resnet50", 32, "cpu", WL_F32, 20);
    no_allocations("vgg16", 32, "cpu", WL_F32, 3);
    no_allocations("inception3", 96, "cpu", WL_F32, 3);
}

static void test_cpu_bf16(void **state)
{
    (void)state;
    no_allocations("resnet50", 32, "cpu", WL_BF16, 4);
}

static void test_ref(void **state)
{
    (void)state;
    no_allocations("resnet50", 32, "ref", WL_F32, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cpu), cmocka_unit_test(test_cpu_bf16),
                                        cmocka_unit_test(test_ref) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
