/* The ring between a sampler thread and the consumer. */
#include "fixture.h"

#include "power/sampler/ring.h"

#include <pthread.h>

static void a_full_ring_keeps_its_contents(void **state)
{
    struct fixture *f = *state;
    struct wl_ring r;
    wl_ring_init(&r, 1000, f->a);
    assert_int_equal(r.size, 1024);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 1024; i++) assert_true(wl_ring_push(&r, &(struct wl_sample) { .channel = i }));
        assert_false(wl_ring_push(&r, &(struct wl_sample) { .channel = 9999 }));
        struct wl_sample out[700];
        assert_int_equal(wl_ring_pop(&r, out, 700), 700);
        assert_int_equal(out[699].channel, 699);
        assert_int_equal(wl_ring_pop(&r, out, 700), 324);
        assert_int_equal(out[323].channel, 1023);
        assert_int_equal(wl_ring_pop(&r, out, 700), 0);
    }
}

enum { MANY = 300000 };

static void *produce(void *ring)
{
    for (uint32_t i = 0; i < MANY;) {
        if (wl_ring_push(ring, &(struct wl_sample) { .t_ns = i, .value = i, .channel = i }))
            i++;
        else
            sched_yield();
    }
    return NULL;
}

static void two_threads_pass_samples_whole_and_in_order(void **state)
{
    struct fixture *f = *state;
    struct wl_ring r;
    wl_ring_init(&r, 1, f->a);
    pthread_t producer;
    assert_int_equal(pthread_create(&producer, NULL, produce, &r), 0);
    static struct wl_sample out[777];
    for (uint32_t next = 0; next < MANY;) {
        size_t n = wl_ring_pop(&r, out, WL_COUNT(out));
        if (n == 0) sched_yield();
        for (size_t i = 0; i < n; i++, next++)
            assert_true(out[i].channel == next && out[i].t_ns == next && out[i].value == next);
    }
    pthread_join(producer, NULL);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(a_full_ring_keeps_its_contents),
        WITH_FIXTURE(two_threads_pass_samples_whole_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
