/* Experiments parsed from text, for the tests of this area. */
#ifndef WL_TESTS_CAMPAIGN_EXPERIMENT_TEXT_H
#define WL_TESTS_CAMPAIGN_EXPERIMENT_TEXT_H

#include "campaign/campaign.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct wl_arena *a;
static struct wl_err e;
static struct wl_experiment x;

static inline int setup(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    e = (struct wl_err) { 0 };
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    wl_arena_free(a);
    return 0;
}

static inline int parse_with(const char *text, const char *set)
{
    struct wl_strs sets = { 0 };
    if (set) wl_strs_add(a, &sets, set);
    return wl_experiment_parse("exp.ini", text, &sets, &x, a, &e);
}

static inline int parse(const char *text) { return parse_with(text, NULL); }

#define NAME "[campaign]\nname = demo\n"

#endif
