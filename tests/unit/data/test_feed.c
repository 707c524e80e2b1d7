/* Loaders over data sets of both kinds, without images: which rank gets which sample, where an epoch starts, padding.
 */
#include "data/data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 4, SAMPLES = 22, MAX = 8, CAPACITY = BATCH * MAX };

static struct wl_arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = wl_arena_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wl_arena_free(arena);
    return 0;
}

/* ---- a set of bags: sample i has 1 + i % MAX numbers, all of them i; a batch is the concatenated bags ---- */

static int64_t size_of(int64_t index) { return 1 + index % MAX; }

/* buffer: numbers [CAPACITY] i32, then the end of each bag [BATCH] i32, -1 after the last. The data of the set is the
 * index of the sample that cannot be read. */
static int write_batch(const struct wl_dataset *s, void *thread, const struct wl_epoch_key *key, const int64_t *index,
                       int64_t n, void *const *buffer, struct wl_err *e)
{
    int32_t *numbers = buffer[0], *end = buffer[1], at = 0;
    (void)thread, (void)key;
    for (int64_t i = 0; i < n; i++) {
        if (index[i] == *(const int64_t *)s->data)
            return wl_fail(e, WL_EINVAL, "%s: bag %lld is torn", s->name, (long long)index[i]);
        for (int64_t k = 0; k < size_of(index[i]); k++) numbers[at++] = (int32_t)index[i];
        end[i] = at;
    }
    for (int64_t i = n; i < BATCH; i++) end[i] = -1;
    return 0;
}

static const struct wl_dataset_ops bag_ops = { .noun = "bag", .write_batch = write_batch };

static struct wl_dataset *data_set_of(int64_t torn)
{
    int64_t *bad_index = wl_new(arena, int64_t);
    struct wl_dataset *s = wl_new(arena, struct wl_dataset);
    *bad_index = torn;
    *s = (struct wl_dataset) { .ops = &bag_ops,
                               .name = "bags",
                               .samples = SAMPLES,
                               .buffers = 2,
                               .bytes = { CAPACITY * sizeof(int32_t), BATCH * sizeof(int32_t) },
                               .data = bad_index };
    return s;
}

/* ---- a set of numbers: sample i is i + 100 * epoch in training; every third cannot be read ---- */

static int write_sample(const struct wl_dataset *s, void *thread, const struct wl_epoch_key *key, int64_t index,
                        void *const *at, struct wl_err *e)
{
    (void)thread;
    *(int32_t *)at[0] = (int32_t)(index + (key->training ? 100 * key->epoch : 0));
    return index % 3 == 2 && s->data ? wl_fail(e, WL_EINVAL, "number %lld is bad", (long long)index) : 0;
}

static void pad(const struct wl_dataset *s, void *const *at)
{
    (void)s;
    *(int32_t *)at[0] = -1;
}

static const struct wl_dataset_ops number_ops = {
    .noun = "number", .bad_sample_hint = "so it is", .write_sample = write_sample, .pad = pad
};

static struct wl_dataset *numbers(bool bad)
{
    struct wl_dataset *s = wl_new(arena, struct wl_dataset);
    *s = (struct wl_dataset) { .ops = &number_ops,
                               .name = "numbers",
                               .samples = SAMPLES,
                               .buffers = 1,
                               .bytes = { sizeof(int32_t) },
                               .data = bad ? s : NULL };
    return s;
}

/* ---- tools ---- */

static struct wl_loader *open_feed(const struct wl_dataset *s, const struct wl_loader_opts *o)
{
    struct wl_loader *f = NULL;
    struct wl_err e = { 0 };
    if (wl_loader_open(&f, s, o, arena, &e)) fail_msg("%s", e.msg);
    return f;
}

/* The bags of the rest of an epoch, in the order given; every batch is complete and its padding marked. */
static int64_t read_bags(struct wl_loader *f, int32_t *seen)
{
    int32_t number[CAPACITY], end[BATCH];
    int64_t n, total = 0;
    struct wl_err e = { 0 };
    int rc;
    while ((rc = wl_loader_next(f, (void *const[]) { number, end }, &n, &e)) > 0) {
        for (int64_t i = 0, at = 0; i < BATCH && n > 0; i++) {
            if (i >= n) {
                assert_int_equal(end[i], -1);
                continue;
            }
            assert_int_equal(end[i] - at, size_of(number[at]));
            for (int64_t k = at; k < end[i]; k++) assert_int_equal(number[k], number[at]);
            seen[total++] = number[at];
            at = end[i];
        }
    }
    if (rc < 0) fail_msg("%s", e.msg);
    return total;
}

static int by_value(const void *a, const void *b) { return *(const int32_t *)a - *(const int32_t *)b; }

/* ---- tests ---- */

/* Any number of threads gives the same batches; ranks together give every sample once. */
static void batches_do_not_depend_on_threads_and_ranks(void **state)
{
    (void)state;
    int32_t first[SAMPLES], seen[SAMPLES + BATCH];
    struct wl_err e;
    for (int64_t threads = 0; threads < 4; threads++) {
        struct wl_loader *f =
            open_feed(data_set_of(-1),
                      &(struct wl_loader_opts) {
                          .batch = BATCH, .ranks = 1, .threads = threads, .seed = 3, .training = true });
        assert_int_equal(wl_loader_start_epoch(f, 2, 0, &e), 0);
        assert_int_equal(read_bags(f, seen), SAMPLES);
        if (threads == 0) memcpy(first, seen, sizeof first);
        assert_memory_equal(first, seen, sizeof first);
    }
    for (int64_t ranks = 2; ranks < 4; ranks++) {
        int64_t n = 0;
        for (int64_t rank = 0; rank < ranks; rank++) {
            struct wl_loader *f =
                open_feed(data_set_of(-1), &(struct wl_loader_opts) {
                                               .batch = BATCH, .rank = rank, .ranks = ranks, .threads = 1, .seed = 3 });
            assert_int_equal(wl_loader_start_epoch(f, 0, 0, &e), 0);
            n += read_bags(f, seen + n);
        }
        assert_int_equal(n, SAMPLES);
        qsort(seen, SAMPLES, sizeof *seen, by_value);
        for (int i = 0; i < SAMPLES; i++) assert_int_equal(seen[i], i);
    }
}

/* An epoch that starts at batch 3 is the rest of the complete one; earlier samples are not read. */
static void epoch_starts_at_a_batch(void **state)
{
    (void)state;
    int32_t whole[SAMPLES], rest[SAMPLES];
    struct wl_err e;
    struct wl_loader_opts o = { .batch = BATCH, .ranks = 1, .threads = 2, .seed = 3, .training = true };
    struct wl_loader *f = open_feed(data_set_of(-1), &o);
    assert_int_equal(wl_loader_batches(f), 6);
    assert_int_equal(wl_loader_start_epoch(f, 5, 0, &e), 0);
    read_bags(f, whole);
    f = open_feed(data_set_of(whole[3]), &o); /* in batch 0 */
    assert_int_equal(wl_loader_start_epoch(f, 5, 3, &e), 0);
    assert_int_equal(read_bags(f, rest), SAMPLES - 3 * BATCH);
    assert_memory_equal(rest, whole + 3 * BATCH, (SAMPLES - 3 * BATCH) * sizeof *rest);
    assert_int_equal(wl_loader_start_epoch(f, 5, 6, &e), 0);
    assert_int_equal(read_bags(f, rest), 0);
}

/* A batch that cannot be made is an error when it is its turn, not earlier. */
static void failed_batch_is_an_error_in_order(void **state)
{
    (void)state;
    int32_t number[CAPACITY], end[BATCH];
    int64_t n;
    struct wl_err e = { 0 };
    struct wl_loader *f =
        open_feed(data_set_of(9), &(struct wl_loader_opts) { .batch = BATCH, .ranks = 1, .threads = 2 });
    assert_int_equal(wl_loader_start_epoch(f, 0, 0, &e), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(wl_loader_next(f, (void *const[]) { number, end }, &n, &e), 1);
    assert_int_equal(wl_loader_next(f, (void *const[]) { number, end }, &n, &e), WL_EINVAL);
    assert_string_equal(e.msg, "bags: bag 9 is torn");
}

/* Samples are copied, and missing ones are padded. */
static void samples_are_copied_and_padded(void **state)
{
    (void)state;
    int32_t number[BATCH];
    int64_t n, total = 0;
    struct wl_err e = { 0 };
    struct wl_loader_opts o = { .batch = BATCH, .ranks = 1, .threads = 1, .seed = 1 };
    struct wl_loader *f = open_feed(numbers(false), &o);
    assert_int_equal(wl_loader_start_epoch(f, 1, 0, &e), 0);
    while (wl_loader_next(f, (void *const[]) { number }, &n, &e) > 0) {
        for (int i = 0; i < BATCH; i++) assert_int_equal(number[i], i < n ? total + i : -1);
        total += n;
    }
    assert_int_equal(total, SAMPLES);
    o.training = true;
    f = open_feed(numbers(false), &o);
    assert_int_equal(wl_loader_start_epoch(f, 7, 0, &e), 0);
    while (wl_loader_next(f, (void *const[]) { number }, &n, &e) > 0)
        for (int i = 0; i < n; i++) assert_int_equal(number[i] / 100, 7);
}

/* In evaluation bad samples are skipped, in training replaced; without skip_bad the message ends with the set's hint.
 */
static void bad_samples_are_skipped_or_replaced(void **state)
{
    (void)state;
    int32_t number[BATCH];
    int64_t n, total = 0;
    struct wl_err e = { 0 };
    wl_log_init(WL_ERROR, -1);
    struct wl_loader_opts o = { .batch = BATCH, .ranks = 1, .threads = 1, .skip_bad = true };
    struct wl_loader *f = open_feed(numbers(true), &o);
    assert_int_equal(wl_loader_start_epoch(f, 0, 0, &e), 0);
    while (wl_loader_next(f, (void *const[]) { number }, &n, &e) > 0) {
        for (int i = 0; i < n; i++) assert_int_not_equal(number[i] % 3, 2);
        total += n;
    }
    assert_int_equal(total, SAMPLES - 7);
    assert_int_equal(wl_loader_bad_samples(f), 7);
    o.training = true;
    f = open_feed(numbers(true), &o);
    assert_int_equal(wl_loader_start_epoch(f, 0, 0, &e), 0);
    for (total = 0; wl_loader_next(f, (void *const[]) { number }, &n, &e) > 0; total += n) continue;
    assert_int_equal(total, SAMPLES);
    o.skip_bad = o.training = false;
    f = open_feed(numbers(true), &o);
    assert_int_equal(wl_loader_start_epoch(f, 0, 0, &e), 0);
    assert_int_equal(wl_loader_next(f, (void *const[]) { number }, &n, &e), WL_EINVAL);
    assert_string_equal(e.msg, "number 2 is bad; so it is");
}

static void too_few_samples_are_refused(void **state)
{
    (void)state;
    struct wl_loader *f;
    struct wl_err e = { 0 };
    struct wl_loader_opts o = { .batch = 8, .ranks = 3, .drop_last = true };
    assert_int_equal(wl_loader_open(&f, data_set_of(-1), &o, arena, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "bags: 22 samples, fewer than one global batch of 24 (3 workers x local batch 8)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(batches_do_not_depend_on_threads_and_ranks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(epoch_starts_at_a_batch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_batch_is_an_error_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(samples_are_copied_and_padded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_samples_are_skipped_or_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_few_samples_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
