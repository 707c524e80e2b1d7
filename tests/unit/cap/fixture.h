/* A machine made of files: /sys with two packages and two CPU policies, a folder for journals, simulated GPUs. */
#ifndef TEST_CAP_PLACE_H
#define TEST_CAP_PLACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cap/cap.h"

struct fixture {
    const char *dir, *state;
    struct wl_cap_opts opts;
    struct wl_power_opts power; /* root is dir, no GPU */
    struct wl_arena *a;
    struct wl_err e;
};

int cap_fixture_setup(void **state);
int cap_fixture_teardown(void **state);

/* A file below dir. */
void cap_fixture_put(struct fixture *p, const char *path, const char *text);
char *cap_fixture_get(struct fixture *p, const char *path);
int cap_fixture_mode(struct fixture *p, const char *path, unsigned mode);

/* The GPUs of this script (see tests/fake/fake_nvml.c) are there from now on. */
void cap_fixture_gpus(struct fixture *p, const char *script);

size_t cap_fixture_journals(struct fixture *p);
char *cap_fixture_journal(struct fixture *p); /* path of the only journal */

struct wl_cap_request watts(double w);
struct wl_cap_request mhz(double f);

#endif
