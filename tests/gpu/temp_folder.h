/* A new folder in TMPDIR, which is removed with the test's world (tests/world.c). */
#ifndef WL_TESTS_GPU_TEMP_FOLDER_H
#define WL_TESTS_GPU_TEMP_FOLDER_H

#include "base/base.h"

#include <stdlib.h>

static inline char *temp_folder(struct wl_arena *a)
{
    const char *parent = getenv("TMPDIR");
    char *path = wl_strf(a, "%s/wattlaw-gpu-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(path)) fail_msg("%s cannot be made", path);
    return path;
}

#endif
