/* Shared by the tests of sensors: a temporary folder, files in it, and default options. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include "power/power.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct fixture {
    struct wl_arena *a;
    struct wl_err e;
    struct wl_power_opts opts;
    const char *dir;      /* also opts.root */
    struct wl_arena *own; /* of the latest reopen_sensors */
};

int fixture_setup(void **state);    /* *state becomes a struct fixture */
int fixture_teardown(void **state); /* removes the folder */

/* Writes dir/path and creates its folders. */
void put_file(struct fixture *f, const char *path, const char *fmt, ...) WL_PRINTF(3, 4);

/* Opens the named sensors ("rapl,proc"); fails the test on an error. */
struct wl_sensors *open_sensors(struct fixture *f, const char *names);

/* As open_sensors, but first closes what the previous call opened, so that a library is loaded anew. */
struct wl_sensors *reopen_sensors(struct fixture *f, const char *names);

const struct wl_sensor_info *info_of(const struct wl_sensors *s, const char *sensor);

/* The index of the channel, -1: none. `device` is the name of the device. */
int channel_of(const struct wl_sensors *s, const char *device, enum wl_quantity q);

/* Reads the channel's sensor once and returns the value of the channel. */
double read_channel(struct wl_sensors *s, int channel);
const char *read_failure(struct wl_sensors *s, int channel);

/* Starts a sampler; fails the test on an error. */
struct wl_sampler *start_sampler(struct fixture *f, struct wl_sensors *s, double rate_hz);

void sleep_ms(int ms);

#endif
