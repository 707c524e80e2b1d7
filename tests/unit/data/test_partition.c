/* Order and partition: every sample is taken once, with any number of ranks. */
#include "data/loader/partition.h"
#include "temp_dir.h"

/* Counts how often each position of the order is taken over all ranks and steps. */
static void count_positions(struct wl_partition s, int *seen)
{
    int64_t from;
    for (s.rank = 0; s.rank < s.ranks; s.rank++)
        for (int64_t step = 0; step < wl_partition_steps(&s); step++) {
            int64_t n = wl_partition_range(&s, step, &from);
            assert_true(n >= 0 && n <= s.batch);
            for (int64_t i = 0; i < n; i++) seen[from + i]++;
        }
}

static void every_sample_is_taken_once(void **state)
{
    (void)state;
    for (int64_t samples = 1; samples < 50; samples += 7)
        for (int64_t batch = 1; batch < 10; batch += 2)
            for (int64_t ranks = 1; ranks <= 5; ranks++) {
                int seen[50] = { 0 };
                struct wl_partition s = { .samples = samples, .batch = batch, .ranks = ranks };
                count_positions(s, seen);
                for (int64_t i = 0; i < samples; i++) assert_int_equal(seen[i], 1);
            }
}

static void drop_last_drops_less_than_a_batch(void **state)
{
    int seen[50] = { 0 };
    struct wl_partition s = { .samples = 50, .batch = 4, .ranks = 3, .drop_last = true };
    (void)state;
    assert_int_equal(wl_partition_steps(&s), 4);
    count_positions(s, seen);
    for (int i = 0; i < 50; i++) assert_int_equal(seen[i], i < 48);
}

/* Step s of rank r with W ranks is step s*W + r of one rank, so gradients can be compared. */
static void ranks_equal_accumulation(void **state)
{
    struct wl_partition one = { .samples = 60, .batch = 5, .ranks = 1, .drop_last = true };
    (void)state;
    for (int64_t ranks = 2; ranks <= 3; ranks++) {
        struct wl_partition s = { .samples = 60, .batch = 5, .ranks = ranks, .drop_last = true };
        for (int64_t step = 0; step < wl_partition_steps(&s); step++)
            for (s.rank = 0; s.rank < ranks; s.rank++) {
                int64_t from, alone;
                assert_int_equal(wl_partition_range(&s, step, &from), 5);
                wl_partition_range(&one, step * ranks + s.rank, &alone);
                assert_int_equal(from, alone);
            }
    }
}

static void shuffle_depends_on_seed_and_epoch(void **state)
{
    enum { N = 1000 };
    static uint32_t a[N], b[N];
    int seen[N] = { 0 }, moved = 0;
    double walk = 0;
    (void)state;
    wl_partition_shuffle(a, N, 7, 1);
    wl_partition_shuffle(b, N, 7, 1);
    assert_memory_equal(a, b, sizeof a);
    for (int i = 0; i < N; i++) seen[a[i]]++;
    for (int i = 0; i < N; i++) assert_int_equal(seen[i], 1);
    wl_partition_shuffle(b, N, 7, 2);
    for (int i = 0; i < N; i++) moved += a[i] != b[i];
    assert_true(moved > N - 20);
    wl_partition_shuffle(b, N, 8, 1);
    moved = 0;
    for (int i = 0; i < N; i++) moved += a[i] != b[i];
    assert_true(moved > N - 20);
    /* the mean distance between neighbours of a random permutation is N/3, deviation about N*0.24/sqrt(N) */
    for (int i = 1; i < N; i++) walk += abs((int)a[i] - (int)a[i - 1]);
    assert_true(walk / N > N / 3. - 40 && walk / N < N / 3. + 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_is_taken_once),
        cmocka_unit_test(drop_last_drops_less_than_a_batch),
        cmocka_unit_test(ranks_equal_accumulation),
        cmocka_unit_test(shuffle_depends_on_seed_and_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
