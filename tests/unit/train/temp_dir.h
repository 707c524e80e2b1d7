/* A temporary folder for the tests of this area, and an arena that lives as long. */
#ifndef WL_TESTS_TRAIN_PLACE_H
#define WL_TESTS_TRAIN_PLACE_H

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

struct place {
    struct wl_arena *arena;
    char dir[64];
};

/* For cmocka's set-up and tear-down. */
static inline int place_set_up(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct place *p = wl_new(a, struct place);
    p->arena = a;
    snprintf(p->dir, sizeof p->dir, "/tmp/wattlaw-train-XXXXXX");
    *state = p;
    return mkdtemp(p->dir) ? 0 : -1;
}

static inline int place_tear_down(void **state)
{
    struct place *p = *state;
    struct wl_err e;
    struct wl_process_result how;
    int rc = wl_process_run((char *[]) { (char *)"rm", (char *)"-r", p->dir, NULL }, 0, true, NULL, &how, p->arena, &e);
    wl_arena_free(p->arena);
    return rc;
}

#endif
