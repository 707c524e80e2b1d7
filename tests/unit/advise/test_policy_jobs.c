/* Jobs of a partition from observations, and what a candidate does to them. */
#include "near.h"

#include "advise/advise.h"

enum { ROWS = 40 };
struct table {
    struct wl_observations obs;
    size_t n;
    struct wl_arena *arena;
};

static void table_init(struct table *t)
{
    *t = (struct table) { .obs = { .source = "jobs.csv" }, .arena = wl_arena_new(NULL) };
    wl_obs_alloc(&t->obs, ROWS, t->arena);
    t->obs.n = 0;
}

/* A run of `workers` at a cap (NAN: none): 100 W per worker. */
static void add(struct table *t, const char *workload, double workers, double cap, double seconds)
{
    struct wl_observations *o = &t->obs;
    const size_t i = o->n++;
    assert_true(i < ROWS);
    o->workload[i] = workload;
    o->workers[i] = workers;
    o->power_cap_w[i] = cap;
    o->run[i] = wl_strf(t->arena, "%zu", i);
    o->time_s[i] = seconds;
    o->energy_j[i] = seconds * workers * 100;
    o->samples[i] = 1000;
}

static void collect(struct table *t, const char *workload, struct wl_choose_campaign *out)
{
    const struct wl_choose_where where = { .text = workload, .column = "workload", .value = workload };
    const struct wl_choose_campaign_options how = {
        .where = &where, .n_where = 1, .node_size = NAN, .global_batch = NAN, .site_power_w = NAN
    };
    struct wl_err e;
    wl_obs_index_runs(&t->obs, t->arena);
    if (wl_choose_collect(&t->obs, &how, out, t->arena, &e)) fail_msg("%s", e.msg);
}

static int find(struct table *t, double max_power_w, struct wl_policy_jobs *out, struct wl_err *e)
{
    struct wl_choose_campaign *c = wl_new(t->arena, struct wl_choose_campaign);
    collect(t, "net", c);
    const struct wl_policy_source source = { &t->obs, c };
    return wl_policy_find_jobs(&source, 1, NULL, max_power_w, out, t->arena, e);
}

/* Two worker counts make two jobs; a third with one cap is left out; no cap comes last. */
static void jobs_of_a_campaign(void **state)
{
    struct table t;
    struct wl_policy_jobs j;
    struct wl_err e;
    (void)state;
    table_init(&t);
    for (int n = 1; n <= 2; n++) {
        add(&t, "net", n, 200, 120);
        add(&t, "net", n, NAN, 100);
        add(&t, "net", n, 100, 150);
    }
    add(&t, "net", 8, 200, 20);
    add(&t, "other", 1, 150, 30);
    if (find(&t, NAN, &j, &e)) fail_msg("%s", e.msg);
    assert_string_equal(j.cap->name, "power_cap_w");
    assert_int_equal(j.n, 2);
    assert_string_equal(j.v[0].name, "net: 1 worker");
    assert_string_equal(j.v[1].name, "net: 2 workers");
    assert_int_equal(j.single, 1);
    assert_int_equal(j.values, 3);
    assert_true(j.uncapped && isnan(j.limit_w));
    near(j.value[0], 100, 0);
    near(j.value[2], 400, 1e-9); /* one step of 2 above 200 W */
    for (size_t k = 0; k < 3; k++) {
        const struct wl_policy_point *p = &j.v[0].point[k];
        near(exp(p->ln_p), 100, 1e-9);
        near(exp(p->ln_t) * 1000, p->value == 0 ? 150 : p->value == 1 ? 120 : 100, 1e-9);
    }
    if (find(&t, 300, &j, &e)) fail_msg("%s", e.msg);
    near(j.value[2], 300, 0);
    near(j.limit_w, 300, 0);
    wl_arena_free(t.arena);
}

/* Scatter of repeats (not quite alike, or they would be copies) about their settings, with four degrees of freedom at 2
 * %. */
static void noise_of_repeats(void **state)
{
    struct table t;
    struct wl_policy_jobs j;
    struct wl_err e;
    (void)state;
    table_init(&t);
    add(&t, "net", 1, 200, 100);
    add(&t, "net", 1, 100, 150);
    if (find(&t, NAN, &j, &e)) fail_msg("%s", e.msg);
    near(j.noise.sd_t, 0.02, 1e-12);
    near(j.noise_df, 0, 0);
    for (int k = 0; k < 6; k++) add(&t, "net", 1, 200, (100 + 1e-6 * k) * exp(k % 2 ? 0.05 : -0.05));
    for (int k = 0; k < 6; k++) add(&t, "net", 1, 100, (150 + 1e-6 * k) * exp(k % 2 ? 0.05 : -0.05));
    if (find(&t, NAN, &j, &e)) fail_msg("%s", e.msg);
    near(j.noise_df, 12, 0);
    near(j.noise.sd_t, sqrt((12 * 0.0025 + 4 * 0.0004) / 16), 1e-6);
    wl_arena_free(t.arena);
}

/* A job under a larger cap of the other axis is not the same job. */
static void other_caps(void **state)
{
    struct table t;
    struct wl_policy_jobs j;
    struct wl_err e;
    (void)state;
    table_init(&t);
    for (int k = 0; k < 8; k++) {
        add(&t, "net", 1, k % 2 ? 200 : 100, 100 + 10 * k);
        t.obs.clock_mhz[t.obs.n - 1] = k < 4 ? 1000 : 1400;
    }
    if (find(&t, NAN, &j, &e)) fail_msg("%s", e.msg);
    assert_int_equal(j.n, 1);
    near(exp(j.v[0].point[0].ln_t) * 1000, sqrt(140. * 160), 1e-9);
    wl_arena_free(t.arena);
}

/* A run of several tables counts in the first of them: by its values, whatever its label is. */
static void copies_across_tables(void **state)
{
    (void)state;
    struct table t[3];
    size_t removed[3];
    for (size_t k = 0; k < 3; k++) table_init(&t[k]);
    for (int cap = 100; cap <= 200; cap += 50) add(&t[0], "net", 1, cap, 1e4 / cap + 0.1);
    add(&t[1], "net", 1, 250, 40);               /* its own */
    add(&t[1], "net", 1, 150, 1e4 / 150 + 0.1);  /* a copy */
    add(&t[1], "net", 1, 100, 1e4 / 150 + 0.1);  /* another cap */
    add(&t[1], "net", 2, 150, 1e4 / 150 + 0.1);  /* other workers */
    add(&t[1], "bert", 1, 150, 1e4 / 150 + 0.1); /* another workload */
    add(&t[1], "net", 1, 200, 50.1);
    t[1].obs.hardware[5] = "A40"; /* table 0 names none: a copy */
    add(&t[2], "net", 1, 250, 40);
    t[2].obs.energy_j[0] = NAN; /* cannot be compared */
    add(&t[2], "net", 1, 250, 40);
    t[2].obs.hardware[1] = "V100";
    t[1].obs.hardware[0] = "A40"; /* known to differ */
    struct wl_observations obs[3];
    for (size_t k = 0; k < 3; k++) {
        wl_obs_index_runs(&t[k].obs, t[k].arena);
        obs[k] = t[k].obs;
    }
    wl_policy_remove_copies(obs, 3, removed, t[0].arena);
    assert_int_equal(removed[0], 0);
    assert_int_equal(removed[1], 2);
    assert_int_equal(removed[2], 0);
    assert_int_equal(obs[1].n, 4);
    assert_int_equal(obs[1].runs, 4);
    near(obs[1].power_cap_w[0], 250, 0);
    near(obs[1].power_cap_w[1], 100, 0);
    assert_string_equal(obs[1].workload[3], "bert");
    obs[1] = obs[0]; /* a source that is given twice */
    wl_policy_remove_copies(obs, 2, removed, t[0].arena);
    assert_int_equal(removed[1], 3);
    assert_int_equal(obs[1].n, 0);
    for (size_t k = 3; k--;) wl_arena_free(t[k].arena);
}

static void decision(void **state)
{
    struct table t;
    struct wl_policy_jobs j;
    struct wl_policy_result r;
    struct wl_err e;
    (void)state;
    table_init(&t);
    for (int n = 1; n <= 10; n++) {
        add(&t, "net", n, 200, 102);
        add(&t, "net", n, 250, 100);
        add(&t, "net", n, 150, n == 1 ? 150 : 104);
        for (size_t k = t.obs.n - 3; k < t.obs.n; k++)
            t.obs.energy_j[k] = t.obs.time_s[k] * n * (100 + 0.2 * t.obs.power_cap_w[k]);
    }
    if (find(&t, NAN, &j, &e)) fail_msg("%s", e.msg);
    near(j.limit_w, 250, 0);
    struct wl_policy_options o = { 0.1, 0.85, 100, 0.9 };
    if (wl_policy_decide(&j, &o, &r, t.arena, &e)) fail_msg("%s", e.msg);
    assert_int_equal(j.n, 10);
    assert_int_equal(r.workloads, 1);
    near(r.reachable, 10.5 / 11, 1e-12);
    assert_int_equal(r.choice, 0); /* nine of ten jobs within */
    near(r.cap[0].share.mean, 9.5 / 11, 0.02);
    assert_true(r.cap[0].of_others.hi - r.cap[0].of_others.lo > r.cap[0].share.hi - r.cap[0].share.lo);
    near(r.cap[0].power_ref_w - r.cap[0].power_w, 20, 3);
    near(r.cap[0].peak_ref_w - r.cap[0].peak_w, 100, 0);
    assert_true(r.cap[0].peak_is_cap && r.cell[0].measured);
    near(r.cell[0].slowdown, 1.5, 0.05);
    assert_true(r.cell[0].within < 0.01 && r.cell[2].within == 1);
    o.share = 0.9;
    if (wl_policy_decide(&j, &o, &r, t.arena, &e)) fail_msg("%s", e.msg);
    assert_int_equal(r.choice, 1);
    wl_arena_free(t.arena);
}

static void refusals(void **state)
{
    struct table t;
    struct wl_policy_jobs j;
    struct wl_err e;
    (void)state;
    table_init(&t);
    add(&t, "net", 1, 200, 100);
    add(&t, "net", 2, 200, 60);
    assert_int_equal(find(&t, NAN, &j, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "no power cap or clock was varied"));
    add(&t, "net", 4, 150, 40);
    assert_int_equal(find(&t, NAN, &j, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "no group of runs has two values of the power cap"));
    add(&t, "net", 1, 150, 110);
    t.obs.hardware[0] = "V100";
    t.obs.hardware[3] = "A40";
    assert_int_equal(find(&t, NAN, &j, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "several kinds of hardware"));
    wl_arena_free(t.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_of_a_campaign),   cmocka_unit_test(noise_of_repeats), cmocka_unit_test(other_caps),
        cmocka_unit_test(copies_across_tables), cmocka_unit_test(decision),         cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests_name("advise-policy-jobs", tests, NULL, NULL);
}
