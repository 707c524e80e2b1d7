/* Effects of nodes and GPUs. */
#include "check.h"

static struct wl_arena *a;

static int setup(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wl_arena_free(a);
    return 0;
}

enum { ROWS_MAX = 512, MEMBERS_MAX = 2048 };

/* Rows as they are added. */
struct rows {
    struct wl_unit_data d;
    double y[ROWS_MAX];
    size_t block[ROWS_MAX], first[ROWS_MAX + 1], member[MEMBERS_MAX];
};

static struct rows *new_rows(size_t units, bool shares)
{
    struct rows *r = wl_new(a, struct rows);
    r->d = (struct wl_unit_data) {
        .units = units, .y = r->y, .block = r->block, .first = r->first, .member = r->member, .shares = shares
    };
    return r;
}

/* `of`: its units, one letter each. */
static void add(struct rows *r, size_t block, const char *of, double y)
{
    const size_t i = r->d.rows++;
    r->y[i] = y;
    r->block[i] = block;
    r->first[i + 1] = r->first[i];
    for (; *of; of++) r->member[r->first[i + 1]++] = (size_t)(*of - 'a');
    if (block >= r->d.blocks) r->d.blocks = block + 1;
}

static struct wl_unit_effects fit(const struct rows *r)
{
    struct wl_unit_effects out;
    struct wl_err e;
    if (wl_unit_effects_fit(&r->d, &out, a, &e)) fail_msg("%s", e.msg);
    return out;
}

/* Least squares on the whole design, blocks and units, in statsmodels: tests/golden/make_units_golden.py. */
static void statsmodels_agrees(void **state)
{
    (void)state;
    static const char *const cases[] = { "single", "shared", "whole", "slow" };
    for (size_t k = 0; k < WL_COUNT(cases); k++) {
        struct wl_csv csv;
        struct rows *r = new_rows(k == 0 ? 4 : 5, false);
        golden_open(&csv, "units_data.csv", a);
        while (golden_next(&csv)) {
            if (!wl_str_eq(csv.row[0], cases[k])) continue;
            r->d.shares = golden_real(&csv, "shares") > 0;
            add(r, (size_t)golden_real(&csv, "block"), csv.row[3], golden_real(&csv, "y"));
        }
        const struct wl_unit_effects got = fit(r);
#define AGREE(name, v, want)                                               \
    do {                                                                   \
        const char *what_ = wl_strf(a, "%s %s", cases[k], name);           \
        agree(what_, v, golden_value("units_values.csv", what_, a), want); \
    } while (0)
        AGREE("df", got.df, 12);
        AGREE("df1", got.df1, 12);
        AGREE("sigma", got.sigma, 9);
        AGREE("f", got.f, 9);
        AGREE("p", got.p, 8);
        AGREE("between", got.between, 8);
        for (size_t u = 0; u < r->d.units; u++) {
            const struct wl_unit_effect *v = &got.v[u];
            const struct {
                const char *name;
                double v, digits;
            } of[] = { { "value", v->value, 9 },
                       { "se", v->se, 9 },
                       { "lo", v->lo, 8 },
                       { "hi", v->hi, 8 },
                       { "p", v->p, 7 },
                       { "p_holm", v->p_holm, 7 },
                       { "reference", v->reference, 12 } };
            assert_int_equal(v->state, WL_UNIT_COMPARED);
            for (size_t i = 0; i < WL_COUNT(of); i++)
                AGREE(wl_strf(a, "%c %s", (int)('a' + u), of[i].name), of[i].v, of[i].digits);
        }
    }
}

/* What cannot be separated is named, and the others are compared all the same. */
static void units_that_nothing_compares(void **state)
{
    (void)state;
    struct rows *r = new_rows(6, false);
    /* c and d are always together; e is in every run of its setting; f has a setting to itself */
    for (int i = 0; i < 3; i++) {
        add(r, 0, "a", 1 + .01 * i);
        add(r, 0, "b", 1.02 + .01 * i);
        add(r, 1, "ace", 2.0 + .01 * i);
        add(r, 1, "bcde", 2.05 - .01 * i);
        add(r, 1, "cde", 2.03);
        add(r, 2, "f", 5 + .01 * i);
    }
    struct wl_unit_effects got = fit(r);
    assert_int_equal(got.v[0].state, WL_UNIT_COMPARED);
    assert_int_equal(got.v[4].state, WL_UNIT_IN_ALL);
    assert_int_equal(got.v[5].state, WL_UNIT_IN_ALL);
    assert_true(isnan(got.v[4].value) && isnan(got.v[5].p_holm));

    r = new_rows(4, false);
    for (int i = 0; i < 4; i++) {
        add(r, 0, "a", 1 + .01 * i);
        add(r, 0, "b", 1.03 - .01 * i);
        add(r, 0, "cd", 1.2 + .003 * i * i);
    }
    got = fit(r);
    assert_int_equal(got.v[2].state, WL_UNIT_COMPARED);
    assert_int_equal(got.v[3].state, WL_UNIT_WITH_OTHERS);
    assert_int_equal(got.v[3].with, 2);
    assert_true(isnan(got.v[3].value));

    r = new_rows(6, true); /* the energy of pairs: the effect is that of the pair */
    for (int i = 0; i < 3; i++) {
        add(r, 0, "ab", 1.6 + .01 * i);
        add(r, 0, "cd", 1 - .01 * i);
        add(r, 0, "ef", 1.2 + .01 * i);
    }
    got = fit(r);
    agree("ab", got.v[0].value, 1.61 - (.99 + 1.21) / 2, 12);

    /* two pairs of nodes that no setting has in common, each of which is one test */
    r = new_rows(4, false);
    for (int i = 0; i < 4; i++) {
        add(r, 0, "a", 1 + .01 * i);
        add(r, 0, "b", 1.03 - .01 * i);
        add(r, 1, "c", 7 + .01 * i);
        add(r, 1, "d", 7.5 - .003 * i * i);
    }
    got = fit(r);
    agree("a - b", got.v[0].value, 0, 9);
    assert_true(got.v[2].value < -.4 && fabs(got.v[3].value + got.v[2].value) < 1e-9);
    assert_true(got.v[2].p_holm == got.v[3].p_holm && fabs(got.v[2].p_holm / got.v[2].p - 2) < 1e-9);

    /* a from b and c from d by none of them: only the sums of two are known */
    r = new_rows(4, false);
    for (int i = 0; i < 3; i++) {
        add(r, 0, "ab", 1 + .01 * i);
        add(r, 0, "cd", 1.1 - .01 * i);
        add(r, 1, "ac", 2 + .01 * i);
        add(r, 1, "bd", 2.1 - .02 * i);
    }
    got = fit(r);
    for (size_t u = 0; u < 4; u++) assert_true(got.v[u].state == WL_UNIT_UNCLEAR && isnan(got.v[u].value));
    assert_int_equal(got.compared, 0);
}

/* One slow node does not make the others fast. */
static void one_slow_node(void **state)
{
    (void)state;
    struct rows *r = new_rows(5, false);
    for (size_t b = 0; b < 3; b++)
        for (size_t k = 0; k < 25; k++)
            add(r, b, (char[]) { (char)('a' + k % 5), 0 },
                (double)b + (k % 5 == 4 ? .3 : 0) + .01 * wl_random_normal(7, b, k));
    const struct wl_unit_effects got = fit(r);
    assert_true(got.v[4].p_holm < 1e-6 && !got.v[4].reference && fabs(got.v[4].value - .3) < .01);
    for (size_t u = 0; u < 4; u++) {
        assert_true(got.v[u].reference);
        if (got.v[u].p_holm < .05) fail_msg("%zu: %g, p %g", u, got.v[u].value, got.v[u].p_holm);
    }
    assert_true(got.between > .1 && got.between < .16); /* of four zeros and 0.3: 0.134 */
}

static void too_few_rows(void **state)
{
    (void)state;
    struct rows *r = new_rows(2, false);
    add(r, 0, "a", 1);
    add(r, 0, "b", 2);
    struct wl_unit_effects got = fit(r);
    agree("difference", got.v[1].value, 1, 12);
    assert_true(got.df == 0 && isnan(got.v[1].se) && isnan(got.v[1].p_holm) && isnan(got.p) && isnan(got.between));
    r = new_rows(1, false);
    add(r, 0, "a", 1);
    assert_int_equal(fit(r).compared, 0);
    struct wl_unit_effects out;
    struct wl_err e;
    r->y[0] = NAN;
    assert_int_equal(wl_unit_effects_fit(&r->d, &out, a, &e), WL_EINVAL);
}

/* Campaigns of 8 nodes without differences, then with one slow node: the chance of any false finding is 5 %, and 95 %
 * of the intervals hold the truth. Runs are drawn to nodes at random, as a queue does. */
static void error_rates(void **state)
{
    (void)state;
    enum { CAMPAIGNS = 600, NODES = 8, SETTINGS = 4, RUNS = 10 };
    for (int slow = 0; slow <= 1; slow++) {
        size_t found = 0, held = 0, intervals = 0;
        for (uint64_t c = 0; c < CAMPAIGNS; c++) {
            struct wl_arena *outer = a;
            a = wl_arena_new(outer);
            struct rows *r = new_rows(NODES, false);
            for (size_t i = 0; i < SETTINGS * RUNS; i++) {
                const size_t node = wl_random_below(11, c, i, NODES);
                add(r, i % SETTINGS, (char[]) { (char)('a' + node), 0 },
                    (double)(i % SETTINGS) + (slow && node == 0 ? .06 : 0) +
                        .02 * wl_random_normal(12 + (uint64_t)slow, c, i));
            }
            const struct wl_unit_effects got = fit(r);
            bool any = false;
            for (size_t u = 0; u < NODES; u++) {
                const double truth = slow && u == 0 ? .06 : 0;
                if (got.v[u].state != WL_UNIT_COMPARED) continue;
                if (!slow || !got.v[0].reference) { /* else it is in what the others are compared with */
                    intervals++;
                    held += got.v[u].lo <= truth && truth <= got.v[u].hi;
                }
                any |= truth == 0 && got.v[u].p_holm < .05;
            }
            found += any;
            wl_arena_free(a);
            a = outer;
        }
        const double rate = (double)found / CAMPAIGNS, coverage = (double)held / (double)intervals;
        if (rate > .05 + 3 * sqrt(.05 * .95 / CAMPAIGNS))
            fail_msg("slow %d: false findings in %g of campaigns", slow, rate);
        if (coverage < .935 || coverage > .965) fail_msg("slow %d: %g of the intervals hold the truth", slow, coverage);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(statsmodels_agrees), TEST(units_that_nothing_compares), TEST(one_slow_node), TEST(too_few_rows),
        TEST(error_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
