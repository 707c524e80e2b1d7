#include "fixture.h"

#include "cap/state_dir.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CLASS "sys/class/powercap/"
#define FREQ  "sys/devices/system/cpu/cpufreq/"

static void constraint(struct fixture *p, const char *zone, int n, const char *name, const char *limit, const char *max)
{
    cap_fixture_put(p, wl_strf(p->a, CLASS "%s/constraint_%d_name", zone, n), name);
    cap_fixture_put(p, wl_strf(p->a, CLASS "%s/constraint_%d_power_limit_uw", zone, n), limit);
    if (max) cap_fixture_put(p, wl_strf(p->a, CLASS "%s/constraint_%d_max_power_uw", zone, n), max);
}

/* As Linux shows a two-socket Xeon: limits on packages and dram, the first package again through MMIO. */
static void make_sys(struct fixture *p)
{
    for (int i = 0; i < 2; i++) {
        const char *zone = wl_strf(p->a, "intel-rapl:%d", i);
        cap_fixture_put(p, wl_strf(p->a, CLASS "%s/name", zone), wl_strf(p->a, "package-%d\n", i));
        cap_fixture_put(p, wl_strf(p->a, CLASS "%s/enabled", zone), "1\n");
        constraint(p, zone, 0, "long_term\n", "205000000\n", "205000000\n");
        constraint(p, zone, 1, "short_term\n", "246000000\n", "0\n");
        cap_fixture_put(p, wl_strf(p->a, FREQ "policy%d/scaling_max_freq", i), "3500000\n");
        cap_fixture_put(p, wl_strf(p->a, FREQ "policy%d/cpuinfo_min_freq", i), "800000\n");
        cap_fixture_put(p, wl_strf(p->a, FREQ "policy%d/cpuinfo_max_freq", i), "3500000\n");
    }
    cap_fixture_put(p, CLASS "intel-rapl:0:0/name", "dram\n");
    constraint(p, "intel-rapl:0:0", 0, "long_term\n", "40000000\n", NULL);
    cap_fixture_put(p, CLASS "intel-rapl-mmio:0/name", "package-0\n");
    constraint(p, "intel-rapl-mmio:0", 0, "long_term\n", "205000000\n", NULL);
}

int cap_fixture_setup(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct fixture *p = wl_new(a, struct fixture);
    p->a = a;
    const char *base = getenv("TMPDIR");
    char *dir = wl_strf(a, "%s/wattlaw-cap-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(dir)) return -1;
    p->dir = dir;
    p->state = wl_path_join(a, dir, "state");
    p->opts = (struct wl_cap_opts) { .setter = "auto", .state_dir = p->state, .program = getenv("WATTLAW") };
    p->power = (struct wl_power_opts) { .root = dir, .nvml_library = "/proc/nowhere/libnvidia-ml.so.1" };
    unsetenv("CUDA_VISIBLE_DEVICES");
    make_sys(p);
    *state = p;
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

int cap_fixture_teardown(void **state)
{
    struct fixture *p = *state;
    nftw(p->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    wl_arena_free(p->a);
    return 0;
}

void cap_fixture_put(struct fixture *p, const char *path, const char *text)
{
    const char *full = wl_path_join(p->a, p->dir, path);
    assert_int_equal(wl_mkdirs(wl_path_dir(p->a, full), &p->e), 0);
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

char *cap_fixture_get(struct fixture *p, const char *path)
{
    char *text;
    if (wl_file_read(wl_path_join(p->a, p->dir, path), 4096, &text, NULL, p->a, &p->e) < 0) fail_msg("%s", p->e.msg);
    return wl_str_strip(p->a, text);
}

int cap_fixture_mode(struct fixture *p, const char *path, unsigned mode)
{
    return chmod(wl_path_join(p->a, p->dir, path), mode);
}

void cap_fixture_gpus(struct fixture *p, const char *script)
{
    setenv("WATTLAW_FAKE_NVML", wl_strf(p->a, "state=%s/gpus; %s", p->dir, script), 1);
    p->power.nvml_library = getenv("FAKE_NVML");
}

static struct wl_strs journals(struct fixture *p)
{
    struct wl_strs found = { 0 }, why = { 0 };
    if (wl_is_dir(p->state))
        assert_int_equal(wl_cap_state_files(p->state, ".caps", SIZE_MAX, &found, &why, p->a, &p->e), 0);
    return found;
}

size_t cap_fixture_journals(struct fixture *p) { return journals(p).n; }

char *cap_fixture_journal(struct fixture *p)
{
    struct wl_strs found = journals(p);
    assert_int_equal(found.n, 1);
    return found.v[0];
}

struct wl_cap_request watts(double w)
{
    struct wl_cap_request r = wl_cap_none;
    r.value[WL_CAP_POWER] = w;
    return r;
}

struct wl_cap_request mhz(double f)
{
    struct wl_cap_request r = wl_cap_none;
    r.value[WL_CAP_CLOCK] = f;
    return r;
}
