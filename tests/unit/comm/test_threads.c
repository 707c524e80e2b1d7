/* The group of a node with threads as ranks: ThreadSanitizer sees what it cannot see between processes. */
#include "nn/comm/internal.h"

#include "ranks.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 3, ROUNDS = 50, COUNT = 5000 };

struct thread {
    pthread_t id;
    struct wl_shm_control *control;
    int rank, rc;
    size_t wrong;
    struct wl_err e;
};

static int rounds(struct thread *t, struct wl_shm *g)
{
    struct wl_shm_region *region;
    static const char word[] = "the same everywhere";
    float plain[64];
    char text[sizeof word] = "";
    int rc = wl_shm_region_new(g, COUNT * sizeof(float), &region, &t->e);
    for (int round = 0; round < ROUNDS && !rc; round++) {
        float *x = (float *)region->part[t->rank];
        double number_of_ranks = 1;
        for (size_t i = 0; i < COUNT; i++) x[i] = number(t->rank, i + (size_t)round);
        for (size_t i = 0; i < 64; i++) plain[i] = number(t->rank, i);
        memcpy(text, t->rank == round % RANKS ? word : "", t->rank == round % RANKS ? sizeof word : 1);
        rc = wl_shm_sum_f32(g, x, COUNT, &t->e);
        if (!rc) rc = wl_shm_sum_f32(g, plain, 64, &t->e);
        if (!rc) rc = wl_shm_sum_f64(g, &number_of_ranks, 1, &t->e);
        if (!rc) rc = wl_shm_broadcast(g, text, sizeof text, round % RANKS, &t->e);
        for (size_t i = 0; i < COUNT; i++) t->wrong += x[i] != sum_of(RANKS, i + (size_t)round);
        for (size_t i = 0; i < 64; i++) t->wrong += plain[i] != sum_of(RANKS, i);
        t->wrong += number_of_ranks != RANKS || strcmp(text, word) != 0;
    }
    return rc ? rc : wl_shm_barrier(g, &t->e);
}

/* Halves that are handed over one after the other, while the rank still writes what follows them. */
static int rounds_behind(struct thread *t, struct wl_shm *g)
{
    struct wl_shm_region *region;
    int rc = wl_shm_region_new(g, COUNT * sizeof(float), &region, &t->e);
    for (int round = 0; round < ROUNDS && !rc; round++) {
        float *x = (float *)region->part[t->rank];
        for (size_t half = 0; half < 2 && !rc; half++) {
            size_t from = half * COUNT / 2;
            for (size_t i = from; i < from + COUNT / 2; i++) x[i] = number(t->rank, i + (size_t)round);
            rc = wl_shm_reduce_start(g, x + from, COUNT / 2, &t->e);
        }
        if (!rc) rc = wl_shm_reduce_finish(g, &t->e);
        for (size_t i = 0; i < COUNT; i++) t->wrong += x[i] != sum_of(RANKS, i + (size_t)round);
    }
    return rc ? rc : wl_shm_barrier(g, &t->e);
}

static void *be_rank(void *thread)
{
    struct thread *t = thread;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_shm *g;
    t->rc = wl_shm_join(&g, t->control, t->rank, RANKS, t->rank, a, &t->e);
    if (!t->rc) t->rc = rounds(t, g);
    if (!t->rc) t->rc = rounds_behind(t, g);
    wl_arena_free(a);
    return NULL;
}

static void test_threads_as_ranks(void **state)
{
    (void)state;
    size_t bytes = wl_shm_control_size(RANKS);
    struct wl_shm_control *control = aligned_alloc(64, (bytes + 63) / 64 * 64);
    struct thread t[RANKS] = { 0 };
    assert_non_null(control);
    memset(control, 0, bytes);
    for (int r = 0; r < RANKS; r++) {
        t[r].control = control;
        t[r].rank = r;
        assert_int_equal(pthread_create(&t[r].id, NULL, be_rank, &t[r]), 0);
    }
    for (int r = 0; r < RANKS; r++) assert_int_equal(pthread_join(t[r].id, NULL), 0);
    for (int r = 0; r < RANKS; r++) {
        if (t[r].rc) fail_msg("rank %d: %s", r, t[r].e.msg);
        assert_int_equal(t[r].wrong, 0);
    }
    free(control);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_threads_as_ranks) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
