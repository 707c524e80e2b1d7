/* DCGM's readings: the text of dcgm-exporter, what dcgmi dmon prints, the JSON of Prometheus; invalid values, and what is
 * no line of theirs. */
#include "exchange/exchange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define T0 1700000000 /* s since 1970 */
#define NS WL_NS_PER_S
#define POWER  "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-a\",modelName=\"NVIDIA A100\",Hostname=\"n1\"} "
#define POWER1 "DCGM_FI_DEV_POWER_USAGE{gpu=\"1\",UUID=\"GPU-b\",modelName=\"NVIDIA A100\",Hostname=\"n1\"} "
#define ENERGY "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\",UUID=\"GPU-a\",Hostname=\"n1\"} "
#define CLOCK  "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\",UUID=\"GPU-a\",Hostname=\"n1\"} "

struct place {
    struct wl_arena *arena;
    char path[64];
    struct wl_dcgm_opts opts;
    struct wl_strs gpus, uuids;
    struct wl_dcgm d;
    struct wl_err e;
};

static int set_up(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct place *p = wl_new(a, struct place);
    p->arena = a;
    p->opts = (struct wl_dcgm_opts) { &p->gpus, &p->uuids, WL_NO_NS, WL_NO_NS, WL_NO_NS, WL_NO_NS };
    strcpy(p->path, "/tmp/wattlaw-dcgm-XXXXXX");
    int fd = mkstemp(p->path);
    *state = p;
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    struct place *p = *state;
    int rc = unlink(p->path);
    wl_arena_free(p->arena);
    return rc;
}

static int read_more(struct place *p, const char *text)
{
    p->e = (struct wl_err) { 0 };
    if (wl_file_write(p->path, text, strlen(text), &p->e)) fail_msg("%s", p->e.msg);
    return wl_dcgm_read(p->path, &p->opts, &p->d, p->arena, &p->e);
}

static int read_text(struct place *p, const char *text)
{
    p->d = (struct wl_dcgm) { 0 };
    int rc = read_more(p, text);
    return rc < 0 ? rc : wl_dcgm_finish(&p->d, &p->opts, p->arena, &p->e);
}

static void reads(struct place *p, const char *text)
{
    if (read_text(p, text)) fail_msg("%s", p->e.msg);
}

static void refuses(struct place *p, int code, const char *text, const char *message)
{
    if (read_text(p, text) != code) fail_msg("\"%s\": %d %s", text, p->e.code, p->e.msg);
    if (!strstr(p->e.msg, message)) fail_msg("\"%s\" is not in \"%s\"", message, p->e.msg);
}

static const struct wl_dcgm_series *series(const struct place *p, const char *uuid, const char *quantity)
{
    for (size_t i = 0; i < p->d.n_series; i++)
        if (wl_str_eq(p->d.series[i].quantity, quantity) && wl_str_eq(p->d.devices[p->d.series[i].device].uuid, uuid))
            return &p->d.series[i];
    fail_msg("no %s of %s", quantity, uuid);
    return NULL;
}

static void has(const struct wl_dcgm_series *s, size_t i, double t_s, double value)
{
    assert_true(i < s->n);
    assert_true(llabs(s->v[i].t_ns - (int64_t)llround(t_s * 1000) * (NS / 1000)) < 1000); /* seconds as reals: to us */
    if (isnan(value))
        assert_true(isnan(s->v[i].value));
    else
        assert_true(fabs(s->v[i].value - value) < 1e-9 * fabs(value));
}

static void noted(const struct wl_strs *notes, const char *text)
{
    for (size_t i = 0; i < notes->n; i++)
        if (strstr(notes->v[i], text)) return;
    fail_msg("\"%s\" is nowhere in %zu notes, of which the first is \"%s\"", text, notes->n, notes->n ? notes->v[0] : "");
}

/* ---- formats ---- */

static void reads_scrapes_behind_each_other(void **state)
{
    struct place *p = *state;
    reads(p, "1700000000.5\n# HELP DCGM_FI_DEV_POWER_USAGE Power draw (in W).\n" POWER "302.206000\n" ENERGY "4335301032\n"
             "go_goroutines 12\nDCGM_FI_DEV_XID_ERRORS{gpu=\"0\"} 0\n"
             "# 2023-11-14T22:13:30.500Z\n" POWER "310\n" ENERGY "4338000000\n");
    const struct wl_dcgm_series *s = series(p, "GPU-a", "power_w"), *e = series(p, "GPU-a", "energy_j");
    has(s, 0, T0 + .5, 302.206);
    has(s, 1, T0 + 10.5, 310);
    has(e, 0, T0 + .5, 4335301.032); /* mJ; beyond the 32-bit sentinels */
    has(e, 1, T0 + 10.5, 4338000);
    assert_true(e->counter && !s->counter);
    assert_string_equal(s->variant, "driver");
    assert_string_equal(p->d.devices[0].host, "n1");
    assert_string_equal(p->d.devices[0].model, "NVIDIA A100");
    assert_int_equal(p->d.passed, 2);
    assert_int_equal(p->d.n_broken, 0);
    assert_true(wl_dcgm_period_s(&p->d, p->arena) == 10);
}

static void reads_the_lines_own_times(void **state)
{
    struct place *p = *state;
    reads(p, POWER "300 1700000000123\n" POWER "310 1700000001.123\n");
    has(series(p, "GPU-a", "power_w"), 0, T0 + .123, 300);
    has(series(p, "GPU-a", "power_w"), 1, T0 + 1.123, 310);
}

static void reads_newer_names(void **state)
{
    struct place *p = *state;
    reads(p, "1700000000\nDCGM_FI_DEV_BOARD_POWER_WATTS{uuid=\"GPU-a\"} 300\nDCGM_FI_PROF_SM_UTIL_RATIO{uuid=\"GPU-a\"} 0.25\n"
             "DCGM_FI_DEV_BOARD_POWER_RAW_WATTS{uuid=\"GPU-a\"} 305\nDCGM_FI_DEV_FB_USED{uuid=\"GPU-a\"} 2\n");
    has(series(p, "GPU-a", "power_w"), 0, T0, 300);
    has(series(p, "GPU-a", "sm_active_pct"), 0, T0, 25);
    has(series(p, "GPU-a", "mem_used_bytes"), 0, T0, 2097152);
    assert_string_equal(p->d.series[2].variant, "instant");
}

static void counts_scrapes_without_times(void **state)
{
    struct place *p = *state;
    const char *text = POWER "1\n" POWER1 "2\n" POWER "3\n" POWER1 "4\n" POWER1 "6\n" POWER "7\n" POWER1 "8\n";
    refuses(p, WL_EINVAL, text, ":1: the time of this reading is unknown: give --start and --period");
    p->opts.start_ns = (int64_t)T0 * NS;
    p->opts.period_ns = 2 * NS;
    reads(p, text);
    has(series(p, "GPU-a", "power_w"), 1, T0 + 2, 3);
    has(series(p, "GPU-b", "power_w"), 1, T0 + 2, 4);
    has(series(p, "GPU-b", "power_w"), 2, T0 + 4, 6); /* the scrape lacks the other GPU */
    has(series(p, "GPU-a", "power_w"), 2, T0 + 4, 7);
    has(series(p, "GPU-b", "power_w"), 3, T0 + 6, 8);
}

static const char DMON[] = "#Entity   POWER           TOTEC                 GPUTL           SMACT\n"
                           "ID        W               mJ                                         \n"
                           "GPU 0     65.123          4335301032            N/A             0.250\n"
                           "GPU-I 3   N/A             N/A                   N/A             0.100\n"
                           "GPU 1     66.5            12                    5               0.5\n"
                           "\n\ndmon was stopped do to receiving a signal\n";

static void reads_dmon(void **state)
{
    struct place *p = *state;
    refuses(p, WL_EINVAL, DMON, ":3: the time of this reading is unknown");
    p->opts.start_ns = (int64_t)T0 * NS;
    p->opts.period_ns = NS;
    wl_strs_add(p->arena, &p->uuids, "GPU-a");
    reads(p, DMON);
    has(series(p, "GPU-a", "power_w"), 0, T0, 65.123);
    has(series(p, "GPU-a", "energy_j"), 0, T0, 4335301.032);
    has(series(p, "gpu1", "sm_util_pct"), 0, T0, 5); /* whose UUID is not known */
    noted(&p->d.notes, "GPU-a: sm_util_pct: 1 reading is missing: DCGM had no value");
    assert_int_equal(p->d.n_broken, 0);
}

static void reads_dmon_with_times_and_uuids(void **state)
{
    struct place *p = *state;
    reads(p, "2023-11-14T22:13:20.250+0000 # Entity  UUID#  POWER\n2023-11-14T22:13:20.250+0000    Id\n"
             "2023-11-14T22:13:20.250+0000 GPU 0  GPU-a  65\n1700000001.250 GPU 0 GPU-a 66\n"
             "Nov 14 22:13:22 GPU 0 GPU-a 67\n1700000003 GPU 0 GPU-a\n");
    has(series(p, "GPU-a", "power_w"), 0, T0 + .25, 65);
    has(series(p, "GPU-a", "power_w"), 1, T0 + 1.25, 66);
    assert_int_equal(p->d.n_broken, 2);
    noted(&p->d.broken, ":5: \"Nov 14 22:13:22\" before the row: expected a time such as 2026-01-31T12:00:00Z");
    noted(&p->d.broken, ":6: 1 values under 2 columns");
}

static void reads_json_of_prometheus(void **state)
{
    struct place *p = *state;
    reads(p, "\n{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":["
             "{\"metric\":{\"__name__\":\"DCGM_FI_DEV_POWER_USAGE\",\"UUID\":\"GPU-a\",\"Hostname\":\"n1\"},"
             "\"values\":[[1700000000.123,\"300\"],[1700000015,\"9223372036854775794\"],[1,2],[1700000030,\"310\"]]},"
             "{\"metric\":{\"__name__\":\"up\"},\"values\":[[1,\"1\"]]},"
             "{\"metric\":{},\"values\":[[1,\"1\"]]}]}}");
    has(series(p, "GPU-a", "power_w"), 0, T0 + .123, 300);
    has(series(p, "GPU-a", "power_w"), 1, T0 + 15, NAN);
    has(series(p, "GPU-a", "power_w"), 2, T0 + 30, 310);
    noted(&p->d.broken, "result 1, value 3: expected");
    noted(&p->d.broken, "result 3 has no __name__");
    refuses(p, WL_EINVAL, "{\"status\":\"error\",\"error\":\"parse error\"}", "an error of Prometheus: parse error");
    refuses(p, WL_EINVAL, "{\"status\":", ":1:10: ");
}

/* ---- invalid values ---- */

static void takes_no_sentinel_for_a_value(void **state)
{
    static const struct {
        const char *value, *why;
    } cases[] = {
        { "2147483632", "DCGM had no value" },          { "2147483633", "not found" },
        { "2147483634", "not supported" },              { "2147483635", "no permission" },
        { "140737488355328.000000", "DCGM had no value" }, { "140737488355330", "not supported" },
        { "9223372036854775792", "DCGM had no value" }, { "9223372036854775793", "not found" },
        { "9223372036854775794", "not supported" },     { "9223372036854775795", "no permission" },
        { "9.223372036854776e+18", "DCGM had no value" }, { "9223372036854776000", "DCGM had no value" }, /* Prometheus' own */
        { "NaN", "not a number" },
        { "-5", "below 0" },
    };
    struct place *p = *state;
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        reads(p, wl_strf(p->arena, "1700000000\n" POWER "300\n" CLOCK "1\n1700000001\n" POWER "%s\n" CLOCK "%s\n", cases[i].value,
                         cases[i].value));
        has(series(p, "GPU-a", "power_w"), 1, T0 + 1, NAN);
        has(series(p, "GPU-a", "sm_clock_mhz"), 1, T0 + 1, NAN);
        noted(&p->d.notes, wl_strf(p->arena, "GPU-a: power_w: 1 reading is missing: %s", cases[i].why));
    }
}

static void tells_counters_from_sentinels(void **state)
{
    struct place *p = *state;
    reads(p, "1700000000\n" ENERGY "2147483634\n1700000001\n" ENERGY "140737488355327\n1700000002\n" ENERGY "9223372036854775794\n");
    has(series(p, "GPU-a", "energy_j"), 0, T0, 2147483.634); /* 2.1 MJ, reached within two hours */
    has(series(p, "GPU-a", "energy_j"), 1, T0 + 1, 140737488355.327);
    has(series(p, "GPU-a", "energy_j"), 2, T0 + 2, NAN);
}

static void drops_what_never_had_a_value(void **state)
{
    struct place *p = *state;
    reads(p, "1700000000\n" POWER "300\n" CLOCK "2147483634\n1700000001\n" POWER "300\n" CLOCK "2147483634\n");
    assert_int_equal(p->d.n_series, 1);
    noted(&p->d.notes, "GPU-a: sm_clock_mhz: 2 readings are missing: not supported");
    refuses(p, WL_EINVAL, "1700000000\n" POWER "2147483634\n", "no reading has a value: GPU-a: power_w: 1 reading is missing");
}

static void refuses_shares_beyond_all(void **state)
{
    struct place *p = *state;
    reads(p, "1700000000\nDCGM_FI_PROF_SM_ACTIVE{UUID=\"GPU-a\"} 1.01\n1700000001\nDCGM_FI_PROF_SM_ACTIVE{UUID=\"GPU-a\"} 1\n");
    has(series(p, "GPU-a", "sm_active_pct"), 0, T0, NAN);
    has(series(p, "GPU-a", "sm_active_pct"), 1, T0 + 1, 100);
    noted(&p->d.notes, "more than 100 %");
}

static void takes_a_split_gpu_once(void **state)
{
    struct place *p = *state;
    reads(p, "1700000000\nDCGM_FI_DEV_POWER_USAGE{UUID=\"GPU-a\",GPU_I_ID=\"3\"} 52.6\n"
             "DCGM_FI_DEV_POWER_USAGE{UUID=\"GPU-a\",GPU_I_ID=\"4\"} 52.7\nDCGM_FI_DEV_GPU_UTIL{UUID=\"GPU-a\",GPU_I_ID=\"4\"} 50\n");
    assert_int_equal(p->d.n_series, 1);
    assert_int_equal(p->d.series[0].n, 1);
    assert_int_equal(p->d.repeated, 1);
    noted(&p->d.notes, "GPU-a is split into MIG instances: power and energy are of all of them");
}

/* ---- invalid lines ---- */

static void names_broken_lines(void **state)
{
    struct place *p = *state;
    reads(p, "1700000000\n" POWER "300\nDCGM_FI_DEV_POWER_USAGE{UUID=\"GPU-a} 3\nDCGM_FI_DEV_POWER_USAGE{UUID=} 3\n" POWER "\n" POWER
             "much\n" POWER "3 yesterday\n???\n" POWER "29");
    assert_int_equal(p->d.series[0].n, 1);
    noted(&p->d.broken, ":3: DCGM_FI_DEV_POWER_USAGE: unterminated quote of a label");
    noted(&p->d.broken, ":4: DCGM_FI_DEV_POWER_USAGE: expected a label name=\"value\"");
    noted(&p->d.broken, ":5: DCGM_FI_DEV_POWER_USAGE: value is missing");
    noted(&p->d.broken, ":7: DCGM_FI_DEV_POWER_USAGE: \"yesterday\" is not a time in ms since 1970");
    noted(&p->d.broken, ":8: not a metric and not a row of dcgmi dmon: \"?" "??\"");
    noted(&p->d.broken, ":9: last line without newline: may be truncated"); /* 29 of 290 W */
    reads(p, "1700000000\n" POWER "300\n1700000001\n" POWER "much\n");
    noted(&p->d.broken, ":4: DCGM_FI_DEV_POWER_USAGE: \"much\" is not a number");
}

static void refuses_other_files(void **state)
{
    struct place *p = *state;
    refuses(p, WL_EINVAL, "", "no known DCGM field");
    refuses(p, WL_EINVAL, "go_goroutines 12\n", "no known DCGM field");
    refuses(p, WL_EINVAL, "[1,2,3]", "result 3 has no __name__");
    assert_int_equal(wl_dcgm_read("/nonexistent/file", &p->opts, &p->d, p->arena, &p->e), WL_ENOENT);
}

/* ---- choices of the user ---- */

static void takes_the_gpus_that_are_named(void **state)
{
    static const char *const names[] = { "GPU-b", "n1:1", "n1", "GPU" };
    static const size_t kept[] = { 1, 1, 2, 2 };
    const char *text = "1700000000\n" POWER "1\n" POWER1 "2\n";
    struct place *p = *state;
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        p->gpus = (struct wl_strs) { 0 };
        wl_strs_add(p->arena, &p->gpus, names[i]);
        reads(p, text);
        assert_int_equal(p->d.n_devices, kept[i]);
        series(p, "GPU-b", "power_w");
    }
    p->gpus.v[0] = wl_strdup(p->arena, "n2");
    refuses(p, WL_ENOENT, text, "none is of a GPU given by --gpus");
}

static void takes_files_in_any_order(void **state)
{
    struct place *p = *state;
    reads(p, "1700000010\n" POWER "310\n1700000000\n" POWER "300\n1700000010\n" POWER "999\n");
    assert_int_equal(p->d.series[0].n, 2);
    has(series(p, "GPU-a", "power_w"), 0, T0, 300);
    assert_int_equal(p->d.repeated, 1);
    p->d = (struct wl_dcgm) { 0 };
    assert_int_equal(read_more(p, "1700000010\n" POWER "310\n"), 0);
    assert_int_equal(read_more(p, "1700000005\n" POWER "305\n" POWER1 "200\n"), 0);
    assert_int_equal(wl_dcgm_finish(&p->d, &p->opts, p->arena, &p->e), 0);
    has(series(p, "GPU-a", "power_w"), 0, T0 + 5, 305);
    assert_int_equal(series(p, "GPU-a", "power_w")->n, 2);
    p->opts.from_ns = (int64_t)(T0 + 1000) * NS;
    refuses(p, WL_ENOENT, "1700000000\n" POWER "300\n", "none is between --from and --to");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(reads_scrapes_behind_each_other), TEST(reads_the_lines_own_times), TEST(reads_newer_names),
        TEST(counts_scrapes_without_times), TEST(reads_dmon), TEST(reads_dmon_with_times_and_uuids),
        TEST(reads_json_of_prometheus), TEST(takes_no_sentinel_for_a_value), TEST(tells_counters_from_sentinels),
        TEST(drops_what_never_had_a_value), TEST(refuses_shares_beyond_all), TEST(takes_a_split_gpu_once),
        TEST(names_broken_lines), TEST(refuses_other_files), TEST(takes_the_gpus_that_are_named),
        TEST(takes_files_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
