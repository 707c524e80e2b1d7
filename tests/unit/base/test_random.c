#include "base/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The known answers of Random123 (kat_vectors, philox4x32 with 10 rounds): counter, key, result. */
static void philox_gives_the_published_numbers(void **state)
{
    (void)state;
    static const struct {
        uint64_t key, stream, index;
        uint32_t out[4];
    } known[] = {
        { 0, 0, 0, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { UINT64_MAX, UINT64_MAX, UINT64_MAX, { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { 0x299f31d0a4093822,
          0x0370734413198a2e,
          0x85a308d3243f6a88,
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t out[4];
        wl_philox(known[i].key, known[i].stream, known[i].index, out);
        assert_memory_equal(out, known[i].out, sizeof out);
    }
}

/* Mean and variance of n draws lie within four standard errors. */
static void moments_match_the_distributions(void **state)
{
    (void)state;
    enum { N = 100000 };
    double sum[3] = { 0 }, squares[3] = { 0 };
    for (uint64_t i = 0; i < N; i++) {
        const double x[3] = { wl_random_uniform(1, 2, i), wl_random_normal(1, 2, i),
                              (double)wl_random_below(1, 2, i, 6) };
        for (int k = 0; k < 3; k++) {
            sum[k] += x[k];
            squares[k] += x[k] * x[k];
        }
        assert_true(x[0] >= 0 && x[0] < 1);
        assert_true(x[2] < 6);
    }
    const double mean[3] = { 0.5, 0, 2.5 }, variance[3] = { 1.0 / 12, 1, 35.0 / 12 };
    for (int k = 0; k < 3; k++) {
        double m = sum[k] / N, v = squares[k] / N - m * m;
        assert_true(fabs(m - mean[k]) < 4 * sqrt(variance[k] / N));
        assert_true(fabs(v - variance[k]) < 4 * variance[k] * sqrt(2.0 / N));
    }
}

/* Many at once: normals are those of their positions, picks lie in their range with the right frequencies. */
static void draws_in_bulk_match_single_draws(void **state)
{
    (void)state;
    enum { N = 60001 };
    static double normals[7];
    static size_t picks[N], counts[6];
    wl_random_normals(1, 2, 4, 7, normals);
    for (uint64_t i = 0; i < 7; i++) assert_true(normals[i] == wl_random_normal(1, 2, 4 + i));
    wl_random_indices(1, 2, 6, N, picks);
    for (size_t i = 0; i < N; i++) {
        assert_true(picks[i] < 6);
        counts[picks[i]]++;
    }
    for (int k = 0; k < 6; k++) assert_true(fabs((double)counts[k] - N / 6.0) < 4 * sqrt(N * 5.0 / 36));
}

static void key_stream_and_position_select_the_number(void **state)
{
    (void)state;
    assert_true(wl_random_uniform(1, 2, 3) == wl_random_uniform(1, 2, 3));
    assert_true(wl_random_uniform(1, 2, 3) != wl_random_uniform(1, 2, 4));
    assert_true(wl_random_uniform(1, 2, 3) != wl_random_uniform(1, 3, 3));
    assert_true(wl_random_uniform(1, 2, 3) != wl_random_uniform(2, 2, 3));
    assert_true(wl_hash_fnv1a("a") == 0xaf63dc4c8601ec8c); /* FNV-1a's published value */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_numbers),
        cmocka_unit_test(moments_match_the_distributions),
        cmocka_unit_test(draws_in_bulk_match_single_draws),
        cmocka_unit_test(key_stream_and_position_select_the_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
