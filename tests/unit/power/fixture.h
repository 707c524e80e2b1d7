/* What the tests of sensors share: a folder that is removed at the end, files in it, and default options. */
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
    struct wl_arena *own; /* of what reopen_sensors opened last */
};

int fixture_setup(void **state);    /* *state becomes a struct fixture */
int fixture_teardown(void **state); /* removes the folder */

/* Writes dir/path, with the folders on its way. */
void put_file(struct fixture *f, const char *path, const char *fmt, ...) WL_PRINTF(3, 4);

/* Opens the sensors that are named ("rapl,proc"); fails the test on an error. */
struct wl_sensors *open_sensors(struct fixture *f, const char *names);

/* As open_sensors, but closes what it opened the time before: a library starts anew. */
struct wl_sensors *reopen_sensors(struct fixture *f, const char *names);

/* What became of the sensor. */
const struct wl_sensor_info *info_of(const struct wl_sensors *s, const char *sensor);

/* The number of the channel, -1 where there is none. `device` is the name of the device. */
int channel_of(const struct wl_sensors *s, const char *device, enum wl_quantity q);

/* Reads one sensor of the list once more and gives the value of a channel. */
double read_channel(struct wl_sensors *s, int channel);
const char *read_failure(struct wl_sensors *s, int channel);

#endif
