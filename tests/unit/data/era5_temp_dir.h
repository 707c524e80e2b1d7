/* A temporary folder for files of fields. */
#ifndef WL_TESTS_ERA5_TEMP_DIR_H
#define WL_TESTS_ERA5_TEMP_DIR_H

#include "data/data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct era5_temp_dir {
    struct wl_arena *a;
    char *dir;
};

static inline const char *era5_path(const struct era5_temp_dir *p, const char *name)
{
    return wl_path_join(p->a, p->dir, name);
}

static inline struct era5_temp_dir temp_dir_new(void)
{
    struct era5_temp_dir p = { .a = wl_arena_new(NULL) };
    char name[] = "/tmp/wl-era5-XXXXXX";
    assert_non_null(mkdtemp(name));
    p.dir = wl_strdup(p.a, name);
    return p;
}

/* With folders for both parts. */
static inline struct era5_temp_dir temp_dir_with_parts(void)
{
    struct era5_temp_dir p = temp_dir_new();
    struct wl_err e = { 0 };
    assert_int_equal(wl_mkdirs(era5_path(&p, "train"), &e), 0);
    assert_int_equal(wl_mkdirs(era5_path(&p, "val"), &e), 0);
    return p;
}

static inline void temp_dir_free(struct era5_temp_dir *p)
{
    assert_int_equal(system(wl_strf(p->a, "rm -rf %s", p->dir)), 0);
    wl_arena_free(p->a);
}

static inline void expect(int rc, int code, const struct wl_err *e, const char *text)
{
    if (rc != code || !strstr(e->msg, text)) fail_msg("code %d, '%s'; expected %d and '%s'", rc, e->msg, code, text);
}

#endif
