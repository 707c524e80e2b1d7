#include "data/internal.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool is_jpeg_name(const char *name)
{
    static const char *const ends[] = { ".jpeg", ".jpg", ".jpe" };
    size_t n = strlen(name);
    if (name[0] == '.') return false;
    for (size_t i = 0; i < WL_COUNT(ends); i++) {
        size_t len = strlen(ends[i]);
        if (n > len && strcasecmp(name + n - len, ends[i]) == 0) return true;
    }
    return false;
}

/* The folders of train/, sorted: the classes. */
static int list_classes(const char *train, struct wl_strs *classes, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs all;
    int rc = wl_dir_list(train, &all, a, e);
    if (rc != 0) return rc;
    for (size_t i = 0; i < all.n; i++)
        if (all.v[i][0] != '.' && wl_is_dir(wl_path_join(a, train, all.v[i]))) wl_strs_add(a, classes, all.v[i]);
    if (classes->n == 0)
        return wl_fail(e, WL_EINVAL, "%s: no class folder; expected %s/<class>/<name>.JPEG", train, train);
    return 0;
}

static int64_t class_index(const struct wl_strs *classes, const char *name)
{
    size_t low = 0, high = classes->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        int order = strcmp(name, classes->v[mid]);
        if (order == 0) return (int64_t)mid;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return -1;
}

/* What wl_images_list collects. */
struct listing {
    struct wl_images *out;
    struct wl_text names;
    size_t cap;
    struct wl_arena *arena;
};

static int list_class(struct listing *l, const char *name, struct wl_err *e)
{
    struct wl_arena *tmp = wl_arena_new(l->arena);
    const char *folder = wl_path_join(tmp, l->out->dir, name);
    int32_t index = (int32_t)class_index(&l->out->classes, name);
    int64_t before = l->out->n;
    struct wl_strs files;
    int rc = wl_dir_list(folder, &files, tmp, e);
    for (size_t i = 0; rc == 0 && i < files.n; i++) {
        if (!is_jpeg_name(files.v[i])) continue;
        struct wl_image image = { .name = l->names.n, .class_index = index };
        wl_text_addf(&l->names, "%s/%s", name, files.v[i]);
        wl_text_addn(&l->names, "", 1);
        WL_GROW(l->arena, l->out->v, (size_t)l->out->n, l->cap);
        l->out->v[l->out->n++] = image;
    }
    if (rc == 0 && l->out->n == before) rc = wl_fail(e, WL_EINVAL, "%s: no JPEG in this class folder", folder);
    wl_arena_free(tmp);
    return rc;
}

static int part_exists(const char *dir, const char *part, const char *path, struct wl_err *e)
{
    if (!wl_is_dir(dir)) return wl_fail(e, WL_ENOENT, "%s: no such data folder", dir);
    if (wl_is_dir(path)) return 0;
    return wl_fail(e, WL_ENOENT, "%s: no folder '%s'; expected %s/train/<class>/<name>.JPEG and val/ likewise", dir,
                   part, dir);
}

int wl_images_list(struct wl_images *out, const char *dir, const char *part, struct wl_arena *a, struct wl_err *e)
{
    const char *train = wl_path_join(a, dir, "train");
    struct listing l = { .out = out, .names = WL_TEXT(a), .arena = a };
    struct wl_strs folders;
    int rc;
    *out = (struct wl_images) { .dir = wl_path_join(a, dir, part) };
    if ((rc = part_exists(dir, "train", train, e)) != 0) return rc;
    if ((rc = part_exists(dir, part, out->dir, e)) != 0) return rc;
    if ((rc = list_classes(train, &out->classes, a, e)) != 0) return rc;
    if ((rc = wl_dir_list(out->dir, &folders, a, e)) != 0) return rc;
    for (size_t i = 0; i < folders.n; i++) {
        if (folders.v[i][0] == '.' || !wl_is_dir(wl_path_join(a, out->dir, folders.v[i]))) continue;
        if (class_index(&out->classes, folders.v[i]) < 0)
            return wl_fail(e, WL_EINVAL, "%s/%s: this class is not among the %zu of %s", out->dir, folders.v[i],
                           out->classes.n, train);
        if ((rc = list_class(&l, folders.v[i], e)) != 0) return rc;
    }
    if (out->n == 0) return wl_fail(e, WL_EINVAL, "%s: no images", out->dir);
    out->names = l.names.s;
    return 0;
}

int wl_images_limit(struct wl_images *images, int64_t samples, struct wl_err *e)
{
    if (samples == 0) return 0;
    if (samples > images->n)
        return wl_fail(e, WL_EINVAL, "%s: %lld samples asked for, it has %lld", images->dir, (long long)samples,
                       (long long)images->n);
    for (int64_t i = 0; i < samples; i++) images->v[i] = images->v[(2 * i + 1) * images->n / (2 * samples)];
    images->n = samples;
    return 0;
}

int wl_images_path(const struct wl_images *images, int64_t i, char *buf, size_t size, struct wl_err *e)
{
    const char *name = images->names + images->v[i].name;
    if (snprintf(buf, size, "%s/%s", images->dir, name) >= (int)size)
        return wl_fail(e, WL_EINVAL, "%s/%s: path longer than %zu bytes", images->dir, name, size - 1);
    return 0;
}
