/* A temporary folder for the tests of this area, and an arena that lives as long. */
#ifndef WL_TESTS_TRAIN_TEMP_DIR_H
#define WL_TESTS_TRAIN_TEMP_DIR_H

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

struct temp_dir {
    struct wl_arena *arena;
    char dir[64];
};

/* For cmocka's set-up and tear-down. */
static inline int temp_dir_setup(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct temp_dir *p = wl_new(a, struct temp_dir);
    p->arena = a;
    snprintf(p->dir, sizeof p->dir, "/tmp/wattlaw-train-XXXXXX");
    *state = p;
    return mkdtemp(p->dir) ? 0 : -1;
}

static inline int temp_dir_teardown(void **state)
{
    struct temp_dir *p = *state;
    struct wl_err e;
    struct wl_process_result end;
    int rc = wl_process_run(&(struct wl_process_run) { .argv = (char *[]) { (char *)"rm", (char *)"-r", p->dir, NULL },
                                                       .merge_stderr = true },
                            NULL, &end, p->arena, &e);
    wl_arena_free(p->arena);
    return rc;
}

#endif
