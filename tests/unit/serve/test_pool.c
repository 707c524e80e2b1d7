/* The pool: what takes seconds holds up nothing else, and everything is done before the end. */
#include "serve/pool.h"

#include "test.h"

#include <pthread.h>

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool open;
    int inside, most_inside, slow, quick; /* calls that are in the gate, and that have ended */
};

static void init(struct gate *g)
{
    *g = (struct gate) { 0 };
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->change, NULL);
}

/* Computes until the gate is open. */
static void slow(void *what)
{
    struct gate *g = what;
    pthread_mutex_lock(&g->lock);
    if (++g->inside > g->most_inside) g->most_inside = g->inside;
    pthread_cond_broadcast(&g->change);
    while (!g->open) pthread_cond_wait(&g->change, &g->lock);
    g->inside--;
    g->slow++;
    pthread_mutex_unlock(&g->lock);
}

static void quick(void *what)
{
    struct gate *g = what;
    pthread_mutex_lock(&g->lock);
    g->quick++;
    pthread_cond_broadcast(&g->change);
    pthread_mutex_unlock(&g->lock);
}

static void wait_for(struct gate *g, const int *count, int n)
{
    pthread_mutex_lock(&g->lock);
    while (*count < n) pthread_cond_wait(&g->change, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void open_gate(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->open = true;
    pthread_cond_broadcast(&g->change);
    pthread_mutex_unlock(&g->lock);
}

/* Eight that compute, of which one does at a time; all that is quick is answered meanwhile. */
static void what_computes_leaves_threads_to_what_reads(void **state)
{
    struct wl_arena *own = wl_arena_new(NULL);
    struct wl_pool *pool;
    struct gate g;
    (void)state;
    init(&g);
    assert_ok(wl_pool_new(&pool, own, e));
    for (int i = 0; i < 8; i++) assert_true(wl_pool_add(pool, WL_POOL_SLOW, slow, &g));
    wait_for(&g, &g.inside, 1);
    for (int i = 0; i < 200; i++) assert_true(wl_pool_add(pool, WL_POOL_QUICK, quick, &g));
    wait_for(&g, &g.quick, 200); /* a test that never ends where they wait */
    assert_int_equal(g.slow, 0);
    open_gate(&g);
    wl_pool_drain(pool);
    assert_int_equal(g.slow, 8);
    assert_int_equal(g.most_inside, 1);
    assert_false(wl_pool_add(pool, WL_POOL_QUICK, quick, &g)); /* after the end */
    wl_arena_free(own);
}

/* A queue that is full refuses, and does not take the room of the other one. */
static void a_full_queue_refuses(void **state)
{
    struct wl_arena *own = wl_arena_new(NULL);
    struct wl_pool *pool;
    struct gate g;
    int taken = 0;
    (void)state;
    init(&g);
    assert_ok(wl_pool_new(&pool, own, e));
    assert_true(wl_pool_add(pool, WL_POOL_SLOW, slow, &g));
    wait_for(&g, &g.inside, 1);
    while (taken < 10000 && wl_pool_add(pool, WL_POOL_SLOW, slow, &g)) taken++;
    assert_true(taken > 100 && taken < 10000);
    assert_true(wl_pool_add(pool, WL_POOL_QUICK, quick, &g));
    wait_for(&g, &g.quick, 1);
    open_gate(&g);
    wl_arena_free(own); /* makes the calls that wait */
    assert_int_equal(g.slow, 1 + taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = { WITH_ARENA(what_computes_leaves_threads_to_what_reads),
                                        WITH_ARENA(a_full_queue_refuses) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
