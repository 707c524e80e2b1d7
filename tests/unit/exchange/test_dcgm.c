/* DCGM's readings: the text of dcgm-exporter, the output of dcgmi dmon, the JSON of Prometheus; invalid values and
 * lines. */
#include "exchange/exchange.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define T0     1700000000 /* s since 1970 */
#define NS     WL_NS_PER_S
#define POWER  "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-a\",modelName=\"NVIDIA A100\",Hostname=\"n1\"} "
#define POWER1 "DCGM_FI_DEV_POWER_USAGE{gpu=\"1\",UUID=\"GPU-b\",modelName=\"NVIDIA A100\",Hostname=\"n1\"} "
#define ENERGY "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\",UUID=\"GPU-a\",Hostname=\"n1\"} "
#define CLOCK  "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\",UUID=\"GPU-a\",Hostname=\"n1\"} "

struct fixture {
    struct wl_arena *arena;
    const char *path; /* in messages */
    struct wl_dcgm_opts opts;
    struct wl_strs gpus, uuids;
    struct wl_dcgm d;
    struct wl_err e;
};

static int set_up(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct fixture *p = wl_new(a, struct fixture);
    p->arena = a;
    p->opts = (struct wl_dcgm_opts) { &p->gpus, &p->uuids, WL_NO_NS, WL_NO_NS, WL_NO_NS, WL_NO_NS };
    p->path = "dcgm.txt";
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *p = *state;
    wl_arena_free(p->arena);
    return 0;
}

static int read_more(struct fixture *p, const char *text)
{
    p->e = (struct wl_err) { 0 };
    FILE *f = *text ? fmemopen((void *)text, strlen(text), "r") : fopen("/dev/null", "r");
    if (!f) fail_msg("%s", strerror(errno));
    int rc = wl_dcgm_read(f, p->path, &p->opts, &p->d, p->arena, &p->e);
    fclose(f);
    return rc;
}

static int read_text(struct fixture *p, const char *text)
{
    p->d = (struct wl_dcgm) { 0 };
    int rc = read_more(p, text);
    return rc < 0 ? rc : wl_dcgm_finish(&p->d, &p->opts, p->arena, &p->e);
}

static void must_read(struct fixture *p, const char *text)
{
    if (read_text(p, text)) fail_msg("%s", p->e.msg);
}

static void must_refuse(struct fixture *p, int code, const char *text, const char *message)
{
    if (read_text(p, text) != code) fail_msg("\"%s\": %d %s", text, p->e.code, p->e.msg);
    if (!strstr(p->e.msg, message)) fail_msg("\"%s\" is not in \"%s\"", message, p->e.msg);
}

static const struct wl_dcgm_series *series(const struct fixture *p, const char *uuid, const char *quantity)
{
    for (size_t i = 0; i < p->d.n_series; i++)
        if (wl_str_eq(p->d.series[i].quantity, quantity) && wl_str_eq(p->d.devices[p->d.series[i].device].uuid, uuid))
            return &p->d.series[i];
    fail_msg("no %s of %s", quantity, uuid);
    return NULL;
}

static void expect_reading(const struct wl_dcgm_series *s, size_t i, double t_s, double value)
{
    assert_true(i < s->n);
    assert_true(llabs(s->v[i].t_ns - (int64_t)llround(t_s * 1000) * (NS / 1000)) < 1000); /* seconds as reals: to us */
    if (isnan(value))
        assert_true(isnan(s->v[i].value));
    else
        assert_true(fabs(s->v[i].value - value) < 1e-9 * fabs(value));
}

static void expect_note(const struct wl_strs *notes, const char *text)
{
    for (size_t i = 0; i < notes->n; i++)
        if (strstr(notes->v[i], text)) return;
    fail_msg("\"%s\" is nowhere in %zu notes, of which the first is \"%s\"", text, notes->n,
             notes->n ? notes->v[0] : "");
}

/* ---- formats ---- */

static void concatenated_scrapes_are_read(void **state)
{
    struct fixture *p = *state;
    must_read(p, "1700000000.5\n# HELP DCGM_FI_DEV_POWER_USAGE Power draw (in W).\n" POWER "302.206000\n" ENERGY
                 "4335301032\n"
                 "go_goroutines 12\nDCGM_FI_DEV_XID_ERRORS{gpu=\"0\"} 0\n"
                 "# 2023-11-14T22:13:30.500Z\n" POWER "310\n" ENERGY "4338000000\n");
    const struct wl_dcgm_series *s = series(p, "GPU-a", "power_w"), *e = series(p, "GPU-a", "energy_j");
    expect_reading(s, 0, T0 + .5, 302.206);
    expect_reading(s, 1, T0 + 10.5, 310);
    expect_reading(e, 0, T0 + .5, 4335301.032); /* mJ; beyond the 32-bit sentinels */
    expect_reading(e, 1, T0 + 10.5, 4338000);
    assert_true(e->counter && !s->counter);
    assert_string_equal(s->variant, "driver");
    assert_string_equal(p->d.devices[0].host, "n1");
    assert_string_equal(p->d.devices[0].model, "NVIDIA A100");
    assert_int_equal(p->d.ignored, 2);
    assert_int_equal(p->d.n_malformed, 0);
}

static void times_on_the_line_are_read(void **state)
{
    struct fixture *p = *state;
    must_read(p, POWER "300 1700000000123\n" POWER "310 1700000001.123\n");
    expect_reading(series(p, "GPU-a", "power_w"), 0, T0 + .123, 300);
    expect_reading(series(p, "GPU-a", "power_w"), 1, T0 + 1.123, 310);
}

static void metric_names_of_dcgm_5_are_read(void **state)
{
    struct fixture *p = *state;
    must_read(p, "1700000000\nDCGM_FI_DEV_BOARD_POWER_WATTS{uuid=\"GPU-a\"} "
                 "300\nDCGM_FI_PROF_SM_UTIL_RATIO{uuid=\"GPU-a\"} 0.25\n"
                 "DCGM_FI_DEV_BOARD_POWER_RAW_WATTS{uuid=\"GPU-a\"} 305\nDCGM_FI_DEV_FB_USED{uuid=\"GPU-a\"} 2\n");
    expect_reading(series(p, "GPU-a", "power_w"), 0, T0, 300);
    expect_reading(series(p, "GPU-a", "sm_active_pct"), 0, T0, 25);
    expect_reading(series(p, "GPU-a", "mem_used_bytes"), 0, T0, 2097152);
    assert_string_equal(p->d.series[2].variant, "instant");
}

static void scrapes_without_times_are_counted(void **state)
{
    struct fixture *p = *state;
    const char *text = POWER "1\n" POWER1 "2\n" POWER "3\n" POWER1 "4\n" POWER1 "6\n" POWER "7\n" POWER1 "8\n";
    must_refuse(p, WL_EINVAL, text, ":1: the time of this reading is unknown: give --start and --period");
    p->opts.start_ns = (int64_t)T0 * NS;
    p->opts.period_ns = 2 * NS;
    must_read(p, text);
    expect_reading(series(p, "GPU-a", "power_w"), 1, T0 + 2, 3);
    expect_reading(series(p, "GPU-b", "power_w"), 1, T0 + 2, 4);
    expect_reading(series(p, "GPU-b", "power_w"), 2, T0 + 4, 6); /* the scrape lacks the other GPU */
    expect_reading(series(p, "GPU-a", "power_w"), 2, T0 + 4, 7);
    expect_reading(series(p, "GPU-b", "power_w"), 3, T0 + 6, 8);
}

static const char DMON[] = "#Entity   POWER           TOTEC                 GPUTL           SMACT\n"
                           "ID        W               mJ                                         \n"
                           "GPU 0     65.123          4335301032            N/A             0.250\n"
                           "GPU-I 3   N/A             N/A                   N/A             0.100\n"
                           "GPU 1     66.5            12                    5               0.5\n"
                           "\n\ndmon was stopped do to receiving a signal\n";

static void dmon_is_read(void **state)
{
    struct fixture *p = *state;
    must_refuse(p, WL_EINVAL, DMON, ":3: the time of this reading is unknown");
    p->opts.start_ns = (int64_t)T0 * NS;
    p->opts.period_ns = NS;
    wl_strs_add(p->arena, &p->uuids, "GPU-a");
    must_read(p, DMON);
    expect_reading(series(p, "GPU-a", "power_w"), 0, T0, 65.123);
    expect_reading(series(p, "GPU-a", "energy_j"), 0, T0, 4335301.032);
    expect_reading(series(p, "gpu1", "sm_util_pct"), 0, T0, 5); /* whose UUID is not known */
    expect_note(&p->d.notes, "GPU-a: sm_util_pct: 1 reading is missing: DCGM had no value");
    assert_int_equal(p->d.n_malformed, 0);
}

static void dmon_with_times_and_uuids_is_read(void **state)
{
    struct fixture *p = *state;
    must_read(p, "2023-11-14T22:13:20.250+0000 # Entity  UUID#  POWER\n2023-11-14T22:13:20.250+0000    Id\n"
                 "2023-11-14T22:13:20.250+0000 GPU 0  GPU-a  65\n1700000001.250 GPU 0 GPU-a 66\n"
                 "Nov 14 22:13:22 GPU 0 GPU-a 67\n1700000003 GPU 0 GPU-a\n");
    expect_reading(series(p, "GPU-a", "power_w"), 0, T0 + .25, 65);
    expect_reading(series(p, "GPU-a", "power_w"), 1, T0 + 1.25, 66);
    assert_int_equal(p->d.n_malformed, 2);
    expect_note(&p->d.malformed,
                ":5: \"Nov 14 22:13:22\" before the row: expected a time such as 2026-01-31T12:00:00Z");
    expect_note(&p->d.malformed, ":6: 1 values under 2 columns");
}

static void json_of_prometheus_is_read(void **state)
{
    struct fixture *p = *state;
    must_read(p,
              "\n{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":["
              "{\"metric\":{\"__name__\":\"DCGM_FI_DEV_POWER_USAGE\",\"UUID\":\"GPU-a\",\"Hostname\":\"n1\"},"
              "\"values\":[[1700000000.123,\"300\"],[1700000015,\"9223372036854775794\"],[1,2],[1700000030,\"310\"]]},"
              "{\"metric\":{\"__name__\":\"up\"},\"values\":[[1,\"1\"]]},"
              "{\"metric\":{},\"values\":[[1,\"1\"]]}]}}");
    expect_reading(series(p, "GPU-a", "power_w"), 0, T0 + .123, 300);
    expect_reading(series(p, "GPU-a", "power_w"), 1, T0 + 15, NAN);
    expect_reading(series(p, "GPU-a", "power_w"), 2, T0 + 30, 310);
    expect_note(&p->d.malformed, "result 1, value 3: expected");
    expect_note(&p->d.malformed, "result 3 has no __name__");
    must_refuse(p, WL_EINVAL, "{\"status\":\"error\",\"error\":\"parse error\"}",
                "an error of Prometheus: parse error");
    must_refuse(p, WL_EINVAL, "{\"status\":", ":1:10: ");
}

/* ---- invalid values ---- */

static void a_sentinel_is_a_missing_value(void **state)
{
    static const struct {
        const char *value, *why;
    } cases[] = {
        { "2147483632", "DCGM had no value" },
        { "2147483633", "not found" },
        { "2147483634", "not supported" },
        { "2147483635", "no permission" },
        { "140737488355328.000000", "DCGM had no value" },
        { "140737488355330", "not supported" },
        { "9223372036854775792", "DCGM had no value" },
        { "9223372036854775793", "not found" },
        { "9223372036854775794", "not supported" },
        { "9223372036854775795", "no permission" },
        { "9.223372036854776e+18", "DCGM had no value" },
        { "9223372036854776000", "DCGM had no value" }, /* Prometheus' own */
        { "NaN", "not a number" },
        { "-5", "below 0" },
    };
    struct fixture *p = *state;
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        must_read(p, wl_strf(p->arena, "1700000000\n" POWER "300\n" CLOCK "1\n1700000001\n" POWER "%s\n" CLOCK "%s\n",
                             cases[i].value, cases[i].value));
        expect_reading(series(p, "GPU-a", "power_w"), 1, T0 + 1, NAN);
        expect_reading(series(p, "GPU-a", "sm_clock_mhz"), 1, T0 + 1, NAN);
        expect_note(&p->d.notes, wl_strf(p->arena, "GPU-a: power_w: 1 reading is missing: %s", cases[i].why));
    }
}

static void a_large_counter_is_not_a_sentinel(void **state)
{
    struct fixture *p = *state;
    must_read(p, "1700000000\n" ENERGY "2147483634\n1700000001\n" ENERGY "140737488355327\n1700000002\n" ENERGY
                 "9223372036854775794\n");
    expect_reading(series(p, "GPU-a", "energy_j"), 0, T0, 2147483.634); /* 2.1 MJ, reached within two hours */
    expect_reading(series(p, "GPU-a", "energy_j"), 1, T0 + 1, 140737488355.327);
    expect_reading(series(p, "GPU-a", "energy_j"), 2, T0 + 2, NAN);
}

static void a_series_without_values_is_dropped(void **state)
{
    struct fixture *p = *state;
    must_read(p, "1700000000\n" POWER "300\n" CLOCK "2147483634\n1700000001\n" POWER "300\n" CLOCK "2147483634\n");
    assert_int_equal(p->d.n_series, 1);
    expect_note(&p->d.notes, "GPU-a: sm_clock_mhz: 2 readings are missing: not supported");
    must_refuse(p, WL_EINVAL, "1700000000\n" POWER "2147483634\n",
                "no reading has a value: GPU-a: power_w: 1 reading is missing");
}

static void a_share_above_100_percent_is_missing(void **state)
{
    struct fixture *p = *state;
    must_read(p, "1700000000\nDCGM_FI_PROF_SM_ACTIVE{UUID=\"GPU-a\"} "
                 "1.01\n1700000001\nDCGM_FI_PROF_SM_ACTIVE{UUID=\"GPU-a\"} 1\n");
    expect_reading(series(p, "GPU-a", "sm_active_pct"), 0, T0, NAN);
    expect_reading(series(p, "GPU-a", "sm_active_pct"), 1, T0 + 1, 100);
    expect_note(&p->d.notes, "more than 100 %");
}

static void a_gpu_split_into_instances_counts_once(void **state)
{
    struct fixture *p = *state;
    must_read(p, "1700000000\nDCGM_FI_DEV_POWER_USAGE{UUID=\"GPU-a\",GPU_I_ID=\"3\"} 52.6\n"
                 "DCGM_FI_DEV_POWER_USAGE{UUID=\"GPU-a\",GPU_I_ID=\"4\"} "
                 "52.7\nDCGM_FI_DEV_GPU_UTIL{UUID=\"GPU-a\",GPU_I_ID=\"4\"} 50\n");
    assert_int_equal(p->d.n_series, 1);
    assert_int_equal(p->d.series[0].n, 1);
    assert_int_equal(p->d.duplicates, 1);
    expect_note(&p->d.notes, "GPU-a is split into MIG instances: power and energy are of all of them");
}

/* ---- invalid lines ---- */

static void malformed_lines_are_named(void **state)
{
    struct fixture *p = *state;
    must_read(p, "1700000000\n" POWER
                 "300\nDCGM_FI_DEV_POWER_USAGE{UUID=\"GPU-a} 3\nDCGM_FI_DEV_POWER_USAGE{UUID=} 3\n" POWER "\n" POWER
                 "much\n" POWER "3 yesterday\n???\n" POWER "29");
    assert_int_equal(p->d.series[0].n, 1);
    expect_note(&p->d.malformed, ":3: DCGM_FI_DEV_POWER_USAGE: unterminated quote of a label");
    expect_note(&p->d.malformed, ":4: DCGM_FI_DEV_POWER_USAGE: expected a label name=\"value\"");
    expect_note(&p->d.malformed, ":5: DCGM_FI_DEV_POWER_USAGE: value is missing");
    expect_note(&p->d.malformed, ":7: DCGM_FI_DEV_POWER_USAGE: \"yesterday\" is not a time in ms since 1970");
    expect_note(&p->d.malformed, ":8: not a metric and not a row of dcgmi dmon: \"?"
                                 "??\"");
    expect_note(&p->d.malformed, ":9: last line without newline: may be truncated"); /* 29 of 290 W */
    must_read(p, "1700000000\n" POWER "300\n1700000001\n" POWER "much\n");
    expect_note(&p->d.malformed, ":4: DCGM_FI_DEV_POWER_USAGE: \"much\" is not a number");
}

static void other_files_are_refused(void **state)
{
    struct fixture *p = *state;
    must_refuse(p, WL_EINVAL, "", "no known DCGM field");
    must_refuse(p, WL_EINVAL, "go_goroutines 12\n", "no known DCGM field");
    must_refuse(p, WL_EINVAL, "[1,2,3]", "result 3 has no __name__");
}

/* ---- choices of the user ---- */

static void only_the_named_gpus_are_kept(void **state)
{
    static const char *const names[] = { "GPU-b", "n1:1", "n1", "GPU" };
    static const size_t kept[] = { 1, 1, 2, 2 };
    const char *text = "1700000000\n" POWER "1\n" POWER1 "2\n";
    struct fixture *p = *state;
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        p->gpus = (struct wl_strs) { 0 };
        wl_strs_add(p->arena, &p->gpus, names[i]);
        must_read(p, text);
        assert_int_equal(p->d.n_devices, kept[i]);
        series(p, "GPU-b", "power_w");
    }
    p->gpus.v[0] = wl_strdup(p->arena, "n2");
    must_refuse(p, WL_ENOENT, text, "none is of a GPU given by --gpus");
}

static void readings_are_sorted_by_time(void **state)
{
    struct fixture *p = *state;
    must_read(p, "1700000010\n" POWER "310\n1700000000\n" POWER "300\n1700000010\n" POWER "999\n");
    assert_int_equal(p->d.series[0].n, 2);
    expect_reading(series(p, "GPU-a", "power_w"), 0, T0, 300);
    assert_int_equal(p->d.duplicates, 1);
    p->d = (struct wl_dcgm) { 0 };
    assert_int_equal(read_more(p, "1700000010\n" POWER "310\n"), 0);
    assert_int_equal(read_more(p, "1700000005\n" POWER "305\n" POWER1 "200\n"), 0);
    assert_int_equal(wl_dcgm_finish(&p->d, &p->opts, p->arena, &p->e), 0);
    expect_reading(series(p, "GPU-a", "power_w"), 0, T0 + 5, 305);
    assert_int_equal(series(p, "GPU-a", "power_w")->n, 2);
    p->opts.from_ns = (int64_t)(T0 + 1000) * NS;
    must_refuse(p, WL_ENOENT, "1700000000\n" POWER "300\n", "none is between --from and --to");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(concatenated_scrapes_are_read),
        TEST(times_on_the_line_are_read),
        TEST(metric_names_of_dcgm_5_are_read),
        TEST(scrapes_without_times_are_counted),
        TEST(dmon_is_read),
        TEST(dmon_with_times_and_uuids_is_read),
        TEST(json_of_prometheus_is_read),
        TEST(a_sentinel_is_a_missing_value),
        TEST(a_large_counter_is_not_a_sentinel),
        TEST(a_series_without_values_is_dropped),
        TEST(a_share_above_100_percent_is_missing),
        TEST(a_gpu_split_into_instances_counts_once),
        TEST(malformed_lines_are_named),
        TEST(other_files_are_refused),
        TEST(only_the_named_gpus_are_kept),
        TEST(readings_are_sorted_by_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
