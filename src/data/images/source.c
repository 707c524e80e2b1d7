#include "data/images/source.h"

#include "data/images/folders.h"
#include "data/images/shards.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder with the shards of one part: DIR itself or DIR/<prefix>, depending on the version of TensorFlow's script.
 * NULL: none. */
static const char *shard_folder(const char *dir, const char *prefix, struct wl_arena *a)
{
    const char *below = wl_path_join(a, dir, prefix);
    if (wl_image_shards_exist(dir, prefix, a)) return dir;
    return wl_image_shards_exist(below, prefix, a) ? below : NULL;
}

/* Class names in the order of the labels, one per line; a leading "0:", as written by TF-Slim, is dropped. */
static int read_labels(struct wl_image_source *s, const char *dir, struct wl_arena *a, struct wl_err *e)
{
    const char *path = wl_path_join(a, dir, "labels.txt");
    char *text;
    if (!wl_is_file(path)) return 0;
    int rc = wl_file_read(path, 1 << 24, &text, NULL, a, e);
    if (rc != 0) return rc;
    for (char *line = text, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        char *from = line + strspn(line, "0123456789");
        const char *name = from > line && *from == ':' ? from + 1 : line;
        size_t n = (size_t)(end - name);
        if (n > 0 && name[n - 1] == '\r') n--;
        if (n > 0) wl_strs_add(a, &s->labels, wl_strndup(a, name, n));
        end += *end == '\n';
    }
    s->classes = (int64_t)s->labels.n;
    return 0;
}

static int open_shards(struct wl_image_source *s, const char *dir, bool train, int64_t classes, struct wl_arena *a,
                       struct wl_err *e)
{
    const char *prefix = train ? "train" : "validation", *folder = shard_folder(dir, prefix, a);
    if (!folder)
        return wl_fail(e, WL_ENOENT,
                       "%s: has TFRecord shards of the %s set but not of the %s set; expected %s-00000-of-<N>", dir,
                       train ? "validation" : "training", train ? "training" : "validation", prefix);
    int rc = wl_image_shards_open(s, folder, prefix, a, e);
    if (rc == 0) rc = read_labels(s, dir, a, e);
    if (rc != 0) return rc;
    if (s->classes == 0) s->classes = classes;
    if (s->classes > 0) return 0;
    return wl_fail(e, WL_EINVAL,
                   "%s: the number of classes is not in TFRecord shards: give --classes (1000 for ImageNet), or "
                   "%s/labels.txt with one name per line",
                   dir, dir);
}

static int check_folder(const char *dir, struct wl_err *e)
{
    if (access(dir, F_OK) != 0 || (wl_is_dir(dir) && access(dir, R_OK | X_OK) != 0)) return wl_fail_errno(e, "%s", dir);
    return wl_is_dir(dir) ? 0 : wl_fail(e, WL_ENOENT, "%s: not a folder; expected the folder of a data set", dir);
}

int wl_image_source_open(struct wl_image_source *s, const char *dir, bool train, int64_t classes, struct wl_arena *a,
                         struct wl_err *e)
{
    int rc = check_folder(dir, e);
    if (rc != 0) return rc;
    bool shards = shard_folder(dir, "train", a) || shard_folder(dir, "validation", a);
    rc = shards ? open_shards(s, dir, train, classes, a, e) : wl_image_folders_open(s, dir, train, a, e);
    if (rc != 0) return rc;
    if (classes && s->classes > classes)
        return wl_fail(e, WL_EINVAL, "%s: %lld %s, but the network has %lld classes (--classes)",
                       shards ? wl_path_join(a, dir, "labels.txt") : wl_path_join(a, dir, "train"),
                       (long long)s->classes, shards ? "class names" : "class folders", (long long)classes);
    if (classes) s->classes = classes;
    if (s->n > UINT32_MAX) return wl_fail(e, WL_EINVAL, "%s: more than 2^32 images", s->dir);
    return 0;
}

int wl_image_source_limit(struct wl_image_source *s, int64_t samples, struct wl_err *e)
{
    if (samples > s->total)
        return wl_fail(e, WL_EINVAL, "%s: %lld samples requested, %lld available", s->dir, (long long)samples,
                       (long long)s->total);
    if (samples > 0) s->n = samples;
    return 0;
}

int wl_image_source_read(const struct wl_image_source *s, int64_t i, struct wl_encoded_image *out, struct wl_err *e)
{
    int64_t position = s->n == s->total ? i : (2 * i + 1) * s->total / (2 * s->n);
    return s->ops->read(s, position, out, e);
}
