/* The screen of wattlaw top at several widths, against golden files. */
#include "cmd/wattlaw/top/top.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A node with two GPUs, of which one is lost and shows no temperature, a CPU package and its own meter of CPUs. */
static const struct wl_device devices[] = {
    { .sensor = "nvml", .name = "NVIDIA A100-SXM4-40GB", .uuid = "GPU-a" },
    { .sensor = "nvml", .name = "NVIDIA A100\x1b[2J", .uuid = "GPU-b", .index = 1 },
    { .sensor = "rapl", .name = "package-0", .uuid = "rapl:package-0" },
    { .sensor = "proc", .name = "node", .uuid = "proc:node" },
};

static const struct row {
    int device;
    enum wl_quantity q;
    enum wl_scope scope;
    double value;
    const char *why;
} rows[] = {
    { 0, WL_POWER, WL_SCOPE_GPU, 251.2, NULL },
    { 0, WL_ENERGY, WL_SCOPE_GPU, 1e6, NULL },
    { 0, WL_SM_UTIL, WL_SCOPE_GPU, 97, NULL },
    { 0, WL_SM_CLOCK, WL_SCOPE_GPU, 1410, NULL },
    { 0, WL_MEM_USED, WL_SCOPE_GPU, 3.21e10, NULL },
    { 0, WL_TEMPERATURE, WL_SCOPE_GPU, 61, NULL },
    { 1, WL_POWER, WL_SCOPE_GPU, NAN, "NVML: GPU is lost" },
    { 1, WL_ENERGY, WL_SCOPE_GPU, NAN, "NVML: GPU is lost" },
    { 1, WL_SM_UTIL, WL_SCOPE_GPU, NAN, "NVML: GPU is lost" },
    { 1, WL_SM_CLOCK, WL_SCOPE_GPU, NAN, "NVML: GPU is lost" },
    { 1, WL_MEM_USED, WL_SCOPE_GPU, NAN, "NVML: GPU is lost" },
    { 2, WL_POWER, WL_SCOPE_PACKAGE, 88, NULL },
    { 2, WL_ENERGY, WL_SCOPE_PACKAGE, 5e4, NULL },
    { 3, WL_CPU_UTIL, WL_SCOPE_NODE, 37.5, NULL },
    { 3, WL_CPUS, WL_SCOPE_NODE, 64, NULL },
    { 3, WL_MEM_USED, WL_SCOPE_NODE, 1.2e11, NULL },
    { 3, WL_RUNNABLE, WL_SCOPE_NODE, 12, NULL },
};
enum { N = WL_COUNT(rows) };

static const struct wl_live_process processes[] = {
    { 4242, "python3", "alice", 99.6, 5.1e9, { 0, 1 }, 2, 97, 3.1e10 },
    { 77, NULL, NULL, NAN, NAN, { 1 }, 1, NAN, NAN },
    { 31337, "stress", "bob", 399.2, 1.2e6, { 0 }, 0, NAN, NAN },
    { 1, "init", "root", 0, 1.1e7, { 0 }, 0, NAN, NAN },
};

static const struct wl_cap_present caps[] = {
    { WL_CAP_POWER, "GPU-a", "A100", 300, 300, 400, false, NULL },
    { WL_CAP_POWER, "rapl:package-0/long_term", "package-0 long_term", 150, NAN, NAN, false, NULL },
    { WL_CAP_POWER, "rapl:package-0/short_term", "package-0 short_term", 180, NAN, NAN, false, NULL },
};

static const struct wl_live_view *node(struct wl_arena *a)
{
    struct wl_live_view *v = wl_new(a, struct wl_live_view);
    struct wl_sensors *s = wl_new(a, struct wl_sensors);
    struct wl_live_reading *readings = wl_new_array(a, struct wl_live_reading, N);
    static const struct wl_live_energy energies[] = { { 1, true, true, 32100, 1e6 },
                                                      { 7, true, true, 12000, NAN },
                                                      { 12, true, false, 9000, 5e4 } };
    s->devices = (struct wl_device *)devices;
    s->n_devices = WL_COUNT(devices);
    s->channels = wl_new_array(a, struct wl_channel, N);
    s->n_channels = N;
    for (size_t i = 0; i < N; i++) {
        s->channels[i] =
            (struct wl_channel) { .device = rows[i].device, .quantity = rows[i].q, .scope = rows[i].scope };
        readings[i] = (struct wl_live_reading) { rows[i].value, 1, rows[i].why };
    }
    *v = (struct wl_live_view) { .host = "node17",
                                 .wall_ns = 1764345600LL * WL_NS_PER_S,
                                 .watched_s = 125,
                                 .sensors = s,
                                 .readings = readings,
                                 .energies = energies,
                                 .n_energies = WL_COUNT(energies),
                                 .energy_scope = "gpu",
                                 .caps = caps,
                                 .n_caps = WL_COUNT(caps),
                                 .processes = processes,
                                 .n_processes = WL_COUNT(processes) };
    return v;
}

static const struct wl_top_campaigns *lab(struct wl_arena *a)
{
    static struct wl_top_campaign campaign = { "lab1", 212, 87, 2, 1, 122, "about 1h27m", "1.21 MJ, 3.21 core-hours" };
    static struct wl_top_run run = { 88, "resnet50 workers 4", 3, 120, 400, 41.2, { .value = 12300, .unit = "J" }, 12 };
    struct wl_top_campaigns *c = wl_new(a, struct wl_top_campaigns);
    run.energy.lo = run.energy.hi = NAN;
    *c = (struct wl_top_campaigns) { .v = &campaign, .n = 1, .runs = &run, .n_runs = 1 };
    return c;
}

static const char *text_of(const struct wl_top_screen *s, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < s->n; i++) {
        const size_t columns = wl_utf8_columns(s->v[i].text.s, s->v[i].text.n);
        if (columns > s->width) fail_msg("%zu columns of %zu: %s", columns, s->width, s->v[i].text.s);
        wl_text_addf(&t, "%s\n", s->v[i].text.s);
    }
    return t.s;
}

static void assert_golden(const char *name, const char *text, struct wl_arena *a)
{
    const char *root = getenv("WATTLAW_SOURCE");
    const char *path = wl_strf(a, "%s/tests/golden/top/%s.txt", root ? root : ".", name);
    struct wl_err e;
    char *golden;
    if (getenv("WATTLAW_UPDATE_GOLDEN")) {
        assert_int_equal(wl_file_write(path, text, strlen(text), &e), 0);
        return;
    }
    if (wl_file_read(path, 1 << 20, &golden, NULL, a, &e) < 0) fail_msg("%s", e.msg);
    assert_string_equal(text, golden);
}

static void screens_are_as_before(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_top_state once = { .period_s = 1 }, keys = { .period_s = 1, .keys = true, .sort = WL_TOP_BY_GPU },
                              help = { .period_s = 0.5, .keys = true, .help = true };
    static const size_t widths[] = { 40, 80, 120, 200 };
    for (size_t i = 0; i < WL_COUNT(widths); i++) {
        struct wl_top_screen s = wl_top_rows(node(a), lab(a), &once, widths[i], 0, a);
        assert_golden(wl_strf(a, "once-%zu", widths[i]), text_of(&s, a), a);
    }
    struct wl_top_screen s = wl_top_rows(node(a), NULL, &keys, 80, 24, a);
    assert_int_equal(s.n, 24);
    assert_golden("keys-80", text_of(&s, a), a);
    s = wl_top_rows(node(a), NULL, &help, 80, 24, a);
    assert_golden("help-80", text_of(&s, a), a);
    wl_arena_free(a);
}

/* Whatever the size, a screen has its rows and no row is too long. */
static void any_size_is_drawn(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_top_state keys = { .period_s = 1, .keys = true };
    for (size_t width = 1; width < 210; width += 7)
        for (size_t height = 1; height < 40; height += 3) {
            keys.first = width * height;
            struct wl_top_screen s = wl_top_rows(node(a), lab(a), &keys, width, height, a);
            assert_int_equal(s.n, height);
            text_of(&s, a);
        }
    wl_arena_free(a);
}

static void json_has_null_and_why(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_json *o = wl_top_json(node(a), a), *lost = wl_json_at(wl_json_get(o, "devices"), 1);
    assert_true(isnan(wl_json_real(wl_json_get(o, "power_w"))));
    assert_true(fabs(wl_json_real(wl_json_get(o, "energy_since_start_j")) - 44100) < 1e-9);
    const struct wl_json *reading = wl_json_at(wl_json_get(lost, "readings"), 0);
    assert_true(isnan(wl_json_real(wl_json_get(reading, "value"))));
    assert_string_equal(wl_json_str(wl_json_get(reading, "why")), "NVML: GPU is lost");
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(screens_are_as_before), cmocka_unit_test(any_size_is_drawn),
                                        cmocka_unit_test(json_has_null_and_why) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
