/* One node or GPU against the others: what of a table of runs and of readings is compared, and how it is said. */
#include "table.h"

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

enum { RUNS = 40, EPOCHS = 3 };

/* Runs of two settings on one of these nodes each, in turn; the first epoch is a warm-up, and n5 is 6 % slow. */
static struct wl_observations runs_on(const char *const *nodes, size_t n)
{
    struct row rows[RUNS * EPOCHS] = { 0 };
    const char **node = wl_new_array(a, const char *, RUNS *EPOCHS);
    for (size_t i = 0; i < RUNS * EPOCHS; i++) {
        const size_t run = i / EPOCHS, epoch = i % EPOCHS + 1;
        node[i] = nodes[run / 2 % n];
        const double t =
            (run % 2 ? 50 : 100) * (strstr(node[i], "n5") ? 1.06 : 1) * exp(.005 * wl_random_normal(3, 0, i));
        rows[i] = (struct row) { .workload = "w",
                                 .run = wl_strf(a, "%zu", run + 1),
                                 .workers = run % 2 ? 2 : 1,
                                 .epoch = (double)epoch,
                                 .time_s = epoch == 1 ? 10 * t * exp(.5 * wl_random_normal(4, 0, i)) : t,
                                 .energy_j = 300 * t };
    }
    struct wl_observations obs = table_of(rows, RUNS * EPOCHS, a);
    wl_obs_add_extra(&obs, "node", node, a);
    return obs;
}

static struct wl_units_result compare(const struct wl_units_input *in, enum wl_units_kind kind)
{
    struct wl_units_result r;
    struct wl_err e;
    if (wl_units_compare(in, kind, &r, a, &e)) fail_msg("%s", e.msg);
    return r;
}

static size_t unit_of(const struct wl_units_result *r, const char *label)
{
    for (size_t u = 0; u < r->n; u++)
        if (strcmp(r->label[u], label) == 0) return u;
    fail_msg("no unit %s", label);
    return 0;
}

static void a_slow_node(void **state)
{
    (void)state;
    static const char *const nodes[] = { "n1", "n2", "n3", "n4", "n5" };
    const struct wl_observations obs = runs_on(nodes, 5);
    const struct wl_units_result r =
        compare(&(struct wl_units_input) { .obs = &obs, .drop_epochs = 1 }, WL_UNITS_NODES);
    assert_true(r.n == 5 && r.runs == RUNS && r.tables == 2 && r.notes.n == 0);
    assert_true(r.v[0].quantity == WL_UNITS_TIME && r.v[0].rows == RUNS && r.v[0].blocks == 2);
    for (size_t u = 0; u < r.n; u++) assert_true(wl_units_differs(&r.v[0], u) == (u == unit_of(&r, "n5")));
    const struct wl_estimate v = wl_units_percent(&r.v[0], unit_of(&r, "n5"));
    assert_true(v.lo < 6 && v.hi > 6 && v.hi - v.lo < 1.5);
    const char *said = wl_units_sentence(&r, &r.v[0], unit_of(&r, "n5"), a);
    if (strncmp(said, "n5 is ", 6) != 0 || !strstr(said, " % slower than the other nodes (")) fail_msg("%s", said);
    said = wl_units_sentence(&r, &r.v[1], unit_of(&r, "n5"), a);
    if (!strstr(said, "n5 uses ") || !strstr(said, " % more energy than")) fail_msg("%s", said);
}

/* The warm-up is long and varies: with it nothing would be seen. */
static void warm_up_does_not_count(void **state)
{
    (void)state;
    static const char *const nodes[] = { "n1", "n2", "n5" };
    const struct wl_observations obs = runs_on(nodes, 3);
    const struct wl_units_result r = compare(&(struct wl_units_input) { .obs = &obs, .drop_epochs = 1 },
                                             WL_UNITS_NODES),
                                 all = compare(&(struct wl_units_input) { .obs = &obs }, WL_UNITS_NODES);
    assert_true(r.v[0].effects.sigma < all.v[0].effects.sigma / 10);
    assert_true(fabs(wl_units_percent(&r.v[0], unit_of(&r, "n5")).value - 6) < 1);
}

static void nodes_that_are_always_together(void **state)
{
    (void)state;
    static const char *const nodes[] = { "n1, n2", "n3,n4", "n5,n6", "n1,n2" };
    const struct wl_observations obs = runs_on(nodes, 4);
    const struct wl_units_result r =
        compare(&(struct wl_units_input) { .obs = &obs, .drop_epochs = 1 }, WL_UNITS_NODES);
    assert_true(r.n == 6 && r.notes.n == 1);
    if (!strstr(r.notes.v[0], "n1 and n2; n3 and n4; n5 and n6")) fail_msg("%s", r.notes.v[0]);
    const char *said = wl_units_sentence(&r, &r.v[0], unit_of(&r, "n5"), a);
    if (strncmp(said, "n5 and n6 are ", 14) != 0) fail_msg("%s", said);
}

static void one_place_is_no_comparison(void **state)
{
    (void)state;
    static const char *const nodes[] = { "n1" };
    struct wl_observations obs = runs_on(nodes, 1);
    struct wl_units_result r = compare(&(struct wl_units_input) { .obs = &obs }, WL_UNITS_NODES);
    assert_non_null(r.v[0].refusal);
    assert_true(r.notes.n == 1 && strstr(r.notes.v[0], "n1: used in every run of a setting"));
    obs.n_extra = 0;
    struct wl_err e;
    assert_int_equal(wl_units_compare(&(struct wl_units_input) { .obs = &obs }, WL_UNITS_NODES, &r, a, &e), WL_ENOENT);
    assert_non_null(strstr(e.msg, "no column node: its runs were all in one place"));
    assert_int_equal(wl_units_compare(&(struct wl_units_input) { .obs = &obs }, WL_UNITS_GPUS, &r, a, &e), WL_EUNAVAIL);
}

/* Eight GPUs in each run of one node, of which number 5 is hot; and the epochs of the only run. */
static void a_hot_gpu(void **state)
{
    (void)state;
    enum { GPUS = 8, TIMES = 4 };
    static const char *const nodes[] = { "n3" };
    const struct wl_observations obs = runs_on(nodes, 1);
    for (int by_epoch = 0; by_epoch <= 1; by_epoch++) {
        struct wl_units_reading v[TIMES * GPUS + GPUS];
        size_t n = 0;
        for (size_t k = 0; k < TIMES; k++)
            for (size_t g = 0; g < GPUS; g++)
                v[n++] =
                    (struct wl_units_reading) { .run = by_epoch ? "1" : wl_strf(a, "%zu", k + 1),
                                                .epoch = by_epoch ? (double)k + 1 : NAN,
                                                .node = "n3",
                                                .uuid = wl_strf(a, "GPU-%zu", g),
                                                .number = (double)g,
                                                .rank = NAN,
                                                .compute_s = NAN,
                                                .energy_j = 1000 * exp(.003 * wl_random_normal(5, k, g)),
                                                .clock_mhz = 1400 - (g == 5 ? 100 : 0) + wl_random_normal(6, k, g),
                                                .power_capped_pct = 0,
                                                .thermal_capped_pct = g == 5 ? 30 + wl_random_normal(7, k, g) : 0 };
        for (size_t g = 0; g < GPUS; g++) { /* of a run that is not among the observations */
            v[n] = v[g];
            v[n++].run = "failed";
        }
        const struct wl_units_result r =
            compare(&(struct wl_units_input) { .obs = &obs, .readings = v, .n = n }, WL_UNITS_GPUS);
        const size_t hot = unit_of(&r, "GPU 5 of n3");
        assert_int_equal(r.n, GPUS);
        for (size_t i = 0; i < r.tables; i++) {
            const struct wl_units_table *t = &r.v[i];
            if (t->quantity <= WL_UNITS_ENERGY) continue;
            assert_true(t->of_epochs == by_epoch && t->blocks == TIMES);
            if (t->quantity == WL_UNITS_POWER_CAPPED) assert_non_null(t->refusal);
            for (size_t u = 0; u < GPUS; u++)
                if (wl_units_differs(t, u) != (u == hot && t->quantity >= WL_UNITS_CLOCK && !t->refusal))
                    fail_msg("%s: %s, p %g", t->name, r.label[u], t->effects.v[u].p_holm);
            if (t->quantity != WL_UNITS_THERMAL_CAPPED) continue;
            const char *said = wl_units_sentence(&r, t, hot, a);
            if (!strstr(said, "GPU 5 of n3: its temperature held the clock down") ||
                !strstr(said, "than on the other GPUs"))
                fail_msg("%s", said);
        }
        bool noted = false;
        for (size_t i = 0; i < r.notes.n; i++)
            noted |= strstr(r.notes.v[i], "its epochs are taken as independent") != NULL;
        assert_true(noted == by_epoch);
    }
}

/* Nothing in a run is compared with one GPU. */
static void runs_of_one_gpu(void **state)
{
    (void)state;
    static const char *const nodes[] = { "n1", "n2", "n5" };
    const struct wl_observations obs = runs_on(nodes, 3);
    struct wl_units_reading v[RUNS];
    for (size_t i = 0; i < RUNS; i++)
        v[i] = (struct wl_units_reading) { .run = wl_strf(a, "%zu", i + 1),
                                           .epoch = NAN,
                                           .node = nodes[i / 2 % 3],
                                           .uuid = wl_strf(a, "GPU-%s", nodes[i / 2 % 3]),
                                           .number = 0,
                                           .rank = NAN,
                                           .compute_s = NAN,
                                           .energy_j = 1000,
                                           .clock_mhz = 1400,
                                           .power_capped_pct = 0,
                                           .thermal_capped_pct = 0 };
    const struct wl_units_result r =
        compare(&(struct wl_units_input) { .obs = &obs, .readings = v, .n = RUNS, .drop_epochs = 1 }, WL_UNITS_GPUS);
    assert_int_equal(r.tables, 2);
    for (size_t u = 0; u < r.n; u++) assert_true(wl_units_differs(&r.v[0], u) == (u == unit_of(&r, "GPU 0 of n5")));
}

/* A GPU that the job holds and leaves idle takes little, at a low clock: that says nothing about those at work. */
static void gpus_that_are_not_used(void **state)
{
    (void)state;
    enum { GPUS = 4 };
    static const char *const nodes[] = { "n1" };
    const struct wl_observations obs = runs_on(nodes, 1);
    struct wl_units_reading v[RUNS * GPUS];
    for (size_t i = 0; i < RUNS * GPUS; i++) {
        const size_t run = i / GPUS, gpu = i % GPUS;
        const bool used = gpu < 1 + run % 3;
        v[i] = (struct wl_units_reading) { .run = wl_strf(a, "%zu", run + 1),
                                           .epoch = NAN,
                                           .node = "n1",
                                           .uuid = wl_strf(a, "GPU-%zu", gpu),
                                           .number = (double)gpu,
                                           .rank = NAN,
                                           .compute_s = NAN,
                                           .energy_j = (used ? 1000 : 90) * exp(.003 * wl_random_normal(8, run, gpu)),
                                           .clock_mhz = (used ? 1400 : 210) + wl_random_normal(9, run, gpu),
                                           .power_capped_pct = used ? 40 + wl_random_normal(10, run, gpu) : 0,
                                           .thermal_capped_pct = 0,
                                           .unused = !used };
    }
    const struct wl_units_input in = { .obs = &obs, .readings = v, .n = RUNS * GPUS, .drop_epochs = 1 };
    const struct wl_units_result r = compare(&in, WL_UNITS_GPUS);
    assert_int_equal(r.n, 3);
    for (size_t i = 0; i < r.tables; i++)
        for (size_t u = 0; u < r.n; u++)
            if (wl_units_differs(&r.v[i], u)) fail_msg("%s", wl_units_sentence(&r, &r.v[i], u, a));
    bool noted = false;
    for (size_t i = 0; i < r.notes.n; i++)
        noted |=
            strstr(r.notes.v[i],
                   "left out: 81 of 160 readings of GPUs, of runs that are not shown to have used the GPU") != NULL;
    assert_true(noted);
    for (size_t i = 0; i < RUNS * GPUS; i++) v[i].unused = true;
    struct wl_units_result none;
    struct wl_err e;
    assert_int_equal(wl_units_compare(&in, WL_UNITS_GPUS, &none, a, &e), WL_EUNAVAIL);
    assert_non_null(strstr(e.msg, "no run used a GPU"));
}

/* Eight ranks on two nodes, each with a GPU, in so many runs; rank 5 computes `slow` times as long. First the readings
 * of the GPUs, then those of the ranks. */
enum { RANKS = 8, RUNS_OF_RANKS = 5 };
static struct wl_units_input ranks_of(const struct wl_observations *obs, double slow, uint64_t seed)
{
    struct wl_units_reading *v = wl_new_array(a, struct wl_units_reading, 2 * RANKS * RUNS_OF_RANKS);
    size_t n = 0;
    for (int gpus = 1; gpus >= 0; gpus--)
        for (size_t k = 0; k < RUNS_OF_RANKS; k++)
            for (size_t r = 0; r < RANKS; r++)
                v[n++] = (struct wl_units_reading) {
                    .run = wl_strf(a, "%zu", k + 1),
                    .epoch = NAN,
                    .node = r < RANKS / 2 ? "n1" : "n2",
                    .uuid = wl_strf(a, "GPU-%zu", r),
                    .number = gpus ? (double)(r % 4) : NAN,
                    .rank = (double)r,
                    .compute_s =
                        gpus ? NAN : (r == 5 ? slow : 1) * exp(.01 * wl_random_normal(seed, k, r)) * (double)(k + 1),
                    .energy_j = gpus ? 1000 * exp(.003 * wl_random_normal(seed + 1, k, r)) : NAN,
                    .clock_mhz = gpus ? 1400 + wl_random_normal(seed + 2, k, r) : NAN,
                    .power_capped_pct = gpus ? 0 : NAN,
                    .thermal_capped_pct = gpus ? 0 : NAN
                };
    return (struct wl_units_input) { .obs = obs, .readings = v, .n = n };
}

static const struct wl_units_table *computing(const struct wl_units_result *r)
{
    for (size_t i = 0; i < r->tables; i++)
        if (r->v[i].quantity == WL_UNITS_COMPUTE) return &r->v[i];
    fail_msg("nothing about computing");
    return NULL;
}

static void a_slow_rank(void **state)
{
    (void)state;
    static const char *const nodes[] = { "n1,n2" };
    static const struct {
        enum wl_units_kind kind;
        const char *label, *said;
    } cases[] = { { WL_UNITS_RANKS, "rank 5", " % longer than the other ranks in the same run (" },
                  { WL_UNITS_GPUS, "GPU 1 of n2", " % longer than the other GPUs in the same run (" },
                  { WL_UNITS_NODES, "n2", " % longer than n1 in the same run (" } };
    const struct wl_observations obs = runs_on(nodes, 1);
    const struct wl_units_input in = ranks_of(&obs, 1.1, 31);
    for (size_t c = 0; c < WL_COUNT(cases); c++) {
        const struct wl_units_result r = compare(&in, cases[c].kind);
        const struct wl_units_table *t = computing(&r);
        const size_t slow = unit_of(&r, cases[c].label);
        assert_true(t->blocks == RUNS_OF_RANKS && !t->of_epochs && !t->refusal);
        for (size_t u = 0; u < r.n; u++)
            if ((wl_units_differs(t, u) && wl_units_is_finding(t, u)) != (u == slow)) fail_msg("%s", r.label[u]);
        const struct wl_estimate v = wl_units_percent(t, slow);
        const double truth = cases[c].kind == WL_UNITS_NODES ? 2.5 : 10;
        if (!(v.lo < truth && v.hi > truth && v.hi - v.lo < 4)) fail_msg("%g: %g to %g", v.value, v.lo, v.hi);
        const char *said = wl_units_sentence(&r, t, slow, a);
        if (!strstr(said, " computes ") || !strstr(said, cases[c].said)) fail_msg("%s", said);
        if (cases[c].kind != WL_UNITS_RANKS) continue;
        assert_true(r.n == RANKS && r.runs == RUNS_OF_RANKS);
        bool clocks = false;
        for (size_t i = 0; i < r.tables; i++)
            clocks |= r.v[i].quantity == WL_UNITS_CLOCK && r.v[i].rows == RANKS * RUNS_OF_RANKS;
        assert_true(clocks); /* of the GPU of each rank */
    }
}

/* Of campaigns in which all ranks are alike, and in which rank 5 is slow: another one is named in 5 % of them, and 95 %
 * of the intervals of rank 5 hold the truth. */
static void errors_over_ranks(void **state)
{
    (void)state;
    enum { CAMPAIGNS = 400 };
    static const char *const nodes[] = { "n1,n2" };
    static const double slow[] = { 1, 1.1 };
    const struct wl_observations obs = runs_on(nodes, 1);
    for (size_t c = 0; c < WL_COUNT(slow); c++) {
        size_t named = 0, held = 0;
        for (uint64_t k = 0; k < CAMPAIGNS; k++) {
            struct wl_arena *outer = a;
            a = wl_arena_new(outer);
            const struct wl_units_input in = ranks_of(&obs, slow[c], 100 + 3 * k);
            const struct wl_units_result r = compare(&in, WL_UNITS_RANKS);
            const struct wl_units_table *t = computing(&r);
            const size_t fifth = unit_of(&r, "rank 5");
            const struct wl_estimate v = wl_units_percent(t, fifth);
            bool any = false;
            for (size_t u = 0; u < r.n; u++) any |= (slow[c] == 1 || u != fifth) && wl_units_differs(t, u);
            named += any;
            held += v.lo <= 100 * (slow[c] - 1) && v.hi >= 100 * (slow[c] - 1);
            wl_arena_free(a);
            a = outer;
        }
        const double rate = (double)named / CAMPAIGNS, coverage = (double)held / CAMPAIGNS,
                     three_se = 3 * sqrt(.05 * .95 / CAMPAIGNS);
        if (rate > .05 + three_se || rate == 0)
            fail_msg("x %g: others are named in %g of the campaigns", slow[c], rate);
        if (coverage < .95 - three_se) fail_msg("x %g: %g of the intervals hold the truth", slow[c], coverage);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_slow_node),
        TEST(warm_up_does_not_count),
        TEST(nodes_that_are_always_together),
        TEST(one_place_is_no_comparison),
        TEST(a_slow_rank),
        TEST(errors_over_ranks),
        TEST(a_hot_gpu),
        TEST(runs_of_one_gpu),
        TEST(gpus_that_are_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
