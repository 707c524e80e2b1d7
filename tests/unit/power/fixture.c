#include "fixture.h"

#include "power/sensor.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

static const struct wl_opt rows[] = { WL_POWER_OPT_ROWS(struct fixture, opts), WL_OPT_END };

int fixture_setup(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct fixture *f = wl_new(a, struct fixture);
    f->a = a;
    wl_opts_default(rows, f, a);
    const char *base = getenv("TMPDIR");
    char *dir = wl_strf(a, "%s/wattlaw-power-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(dir)) return -1;
    f->dir = f->opts.root = dir;
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CUDA_DEVICE_ORDER");
    unsetenv("NVML_LIBRARY");
    setenv("WATTLAW_STATE_DIR", wl_path_join(a, dir, "state"), 1); /* tests do not share remembered state */
    *state = f;
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    nftw(f->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    wl_arena_free(f->a);
    return 0;
}

/* Files are written in place, not renamed: sensors keep them open, as they do with /proc and /sys. */
void put_file(struct fixture *f, const char *path, const char *fmt, ...)
{
    char *full = wl_strf(f->a, "%s/%s", f->dir, path);
    assert_int_equal(wl_mkdirs(wl_path_dir(f->a, full), &f->e), 0);
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    va_list ap;
    va_start(ap, fmt);
    vfprintf(file, fmt, ap);
    va_end(ap);
    assert_int_equal(fclose(file), 0);
}

static struct wl_sensors *open_in(struct fixture *f, const char *names, struct wl_arena *a)
{
    struct wl_sensors *s = NULL;
    f->opts.sensors = wl_str_split(f->a, names, ',');
    if (wl_sensors_open(&s, &f->opts, a, &f->e) < 0) fail_msg("%s", f->e.msg);
    return s;
}

struct wl_sensors *open_sensors(struct fixture *f, const char *names) { return open_in(f, names, f->a); }

struct wl_sensors *reopen_sensors(struct fixture *f, const char *names)
{
    wl_arena_free(f->own);
    f->own = wl_arena_new(f->a);
    return open_in(f, names, f->own);
}

const struct wl_sensor_info *info_of(const struct wl_sensors *s, const char *sensor)
{
    for (size_t i = 0; i < s->n_info; i++) {
        if (wl_str_eq(s->info[i].name, sensor)) return &s->info[i];
    }
    fail_msg("there is no sensor %s", sensor);
    return NULL;
}

int channel_of(const struct wl_sensors *s, const char *device, enum wl_quantity q)
{
    for (size_t i = 0; i < s->n_channels; i++) {
        const struct wl_channel *c = &s->channels[i];
        if (c->quantity == q && wl_str_eq(s->devices[c->device].name, device)) return (int)i;
    }
    return -1;
}

static const struct wl_reading *read_again(struct wl_sensors *s, int channel)
{
    for (size_t i = 0; i < s->n_open; i++) {
        struct wl_sensor *sensor = s->open[i];
        size_t first = sensor->first_channel;
        if ((size_t)channel < first || (size_t)channel >= first + sensor->n_channels) continue;
        wl_sensor_read(sensor, WL_DUE_ALL);
        return &sensor->readings[(size_t)channel - first];
    }
    fail_msg("there is no channel %d", channel);
    return NULL;
}

double read_channel(struct wl_sensors *s, int channel) { return read_again(s, channel)->value; }
const char *read_failure(struct wl_sensors *s, int channel) { return read_again(s, channel)->why; }

struct wl_sampler *start_sampler(struct fixture *f, struct wl_sensors *s, double rate_hz)
{
    struct wl_sampler *sampler = NULL;
    if (wl_sampler_start(&sampler, s, rate_hz, f->a, &f->e) < 0) fail_msg("%s", f->e.msg);
    return sampler;
}

void sleep_ms(int ms) { wl_sleep_until(wl_now_ns() + ms * (WL_NS_PER_S / 1000)); }
