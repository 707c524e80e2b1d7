#include "cuda/library.h"

#include "base/base.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

static const char cuda_path[] = "WATTLAW_CUDA_PATH";

/* Below the folder that the user names: CUDA's own, wheels in nvidia, in site-packages, in a virtual environment. */
static const char *const folders[] = {
    "", "lib/", "lib64/", "*/lib/", "nvidia/*/lib/", "lib/python3*/site-packages/nvidia/*/lib/",
};

static bool serves(const struct wl_gpu_file *f, int cuda) { return !cuda || f->cuda <= cuda; }

static void add_matches(struct wl_arena *a, struct wl_strs *paths, const char *pattern)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc; i++) wl_strs_add(a, paths, found.gl_pathv[i]);
    globfree(&found);
}

static void add_folders(struct wl_arena *a, struct wl_strs *paths, const char *root, const char *file)
{
    for (size_t i = 0; i < WL_COUNT(folders); i++) {
        struct wl_text pattern = WL_TEXT(a);
        wl_text_addf(&pattern, "%s/%s%s", root, folders[i], file);
        add_matches(a, paths, pattern.s);
    }
}

/* Paths that exist below the named folder, then names for the loader. */
static struct wl_strs candidates(const struct wl_gpu_library *spec, int cuda, struct wl_arena *a)
{
    const char *root = getenv(cuda_path);
    struct wl_strs paths = { 0 };
    for (const struct wl_gpu_file *f = spec->files; root && *root && f->name; f++)
        if (serves(f, cuda)) add_folders(a, &paths, root, f->name);
    for (const struct wl_gpu_file *f = spec->files; f->name; f++)
        if (serves(f, cuda)) wl_strs_add(a, &paths, f->name);
    return paths;
}

static const struct wl_gpu_file *newest(const struct wl_gpu_library *spec, int cuda)
{
    const struct wl_gpu_file *f = spec->files;
    while (f->name && !serves(f, cuda)) f++;
    return f->name ? f : NULL;
}

static int none_serves(const struct wl_gpu_library *spec, int cuda, struct wl_err *e)
{
    const struct wl_gpu_file *oldest = spec->files;
    while (oldest[1].name) oldest++;
    return wl_fail(e, WL_EUNAVAIL, "%s: the driver serves CUDA %d, and the oldest library that is known, %s, needs %d",
                   spec->name, cuda, oldest->name, oldest->cuda);
}

static int not_found(const struct wl_gpu_library *spec, int cuda, struct wl_err *e)
{
    const struct wl_gpu_file *f = newest(spec, cuda);
    const struct wl_err why = *e;
    return wl_fail(e, WL_EUNAVAIL, "%s (%s): %s; pip install %s, and name its virtual environment in %s", spec->name,
                   f->name, why.msg, f->package, cuda_path);
}

int wl_gpu_library_open(struct wl_library *out, const struct wl_gpu_library *spec, int cuda, void *functions,
                        struct wl_arena *a, struct wl_err *e)
{
    if (!newest(spec, cuda)) return none_serves(spec, cuda, e);
    struct wl_err local;
    if (!e) e = &local;
    struct wl_strs paths = candidates(spec, cuda, a);
    wl_strs_add(a, &paths, "");
    paths.v[paths.n - 1] = NULL;
    const struct wl_library_spec files = { .names = (const char *const *)paths.v,
                                           .symbols = spec->symbols,
                                           .n = spec->n };
    int rc = wl_library_open(out, &files, functions, a, e);
    return rc == WL_EUNAVAIL ? not_found(spec, cuda, e) : rc;
}

static const struct wl_gpu_file *file_of(const struct wl_gpu_library *spec, const char *path)
{
    const char *slash = strrchr(path, '/');
    const struct wl_gpu_file *f = spec->files;
    while (f->name && strcmp(f->name, slash ? slash + 1 : path) != 0) f++;
    return f;
}

int wl_gpu_library_check(const struct wl_gpu_library *spec, const struct wl_library *l, int version, struct wl_err *e)
{
    const struct wl_gpu_file *f = file_of(spec, l->path);
    WL_CHECK(f->name);
    if (version >= f->least && version / 10000 == f->least / 10000) return 0;
    return wl_fail(e, WL_ELIB, "%s: %s says it is version %d.%d.%d; %d.%d or a later %d.x is needed: pip install %s",
                   spec->name, l->path, version / 10000, version / 100 % 100, version % 100, f->least / 10000,
                   f->least / 100 % 100, f->least / 10000, f->package);
}
