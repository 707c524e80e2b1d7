#include "data/manifest.h"

#include <string.h>

static const char manifest_name[] = "wattlaw-synthetic.ini";

static const char *manifest_text(const char *settings, bool complete, struct wl_arena *a)
{
    return wl_strf(a, "%scomplete = %s\n", settings, complete ? "yes" : "no");
}

static int write_manifest(const char *dir, const char *settings, bool complete, struct wl_arena *a, struct wl_err *e)
{
    const char *text = manifest_text(settings, complete, a);
    return wl_file_write(wl_path_join(a, dir, manifest_name), text, strlen(text), e);
}

static int check_output_dir(const char *dir, const char *settings, bool *complete, struct wl_arena *a, struct wl_err *e)
{
    const char *manifest = wl_path_join(a, dir, manifest_name);
    struct wl_strs names;
    char *found;
    int rc;
    *complete = false;
    if (!wl_is_dir(dir)) return wl_mkdirs(dir, e);
    if ((rc = wl_dir_list(dir, &names, a, e)) != 0) return rc;
    if (names.n == 0) return 0;
    if (!wl_is_file(manifest))
        return wl_fail(e, WL_EINVAL, "%s: the folder is not empty and has no %s; choose another one", dir,
                       manifest_name);
    if ((rc = wl_file_read(manifest, 1 << 16, &found, NULL, a, e)) != 0) return rc;
    *complete = wl_str_eq(found, manifest_text(settings, true, a));
    if (*complete || wl_str_eq(found, manifest_text(settings, false, a))) return 0;
    return wl_fail(e, WL_EINVAL,
                   "%s: holds data generated with other settings (see %s there); remove it or choose another folder",
                   dir, manifest_name);
}

int wl_manifest_begin(const char *dir, const char *settings, bool *complete, struct wl_arena *a, struct wl_err *e)
{
    int rc = check_output_dir(dir, settings, complete, a, e);
    return rc || *complete ? rc : write_manifest(dir, settings, false, a, e);
}

int wl_manifest_end(const char *dir, const char *settings, struct wl_arena *a, struct wl_err *e)
{
    return write_manifest(dir, settings, true, a, e);
}
