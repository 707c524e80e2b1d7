#include "data/images/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

struct image {
    uint64_t name;       /* offset of "<class>/<file>" in images.names */
    int32_t class_index; /* index in the sorted folders of train/ */
};

struct images {
    struct image *v; /* sorted by class, then by name */
    int64_t n;
    const char *names;
};

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

/* ---- listing ---------------------------------------------------------------------------------------------------- */

struct listing {
    struct wl_image_source *source;
    struct images *out;
    struct wl_text names;
    size_t cap;
    struct wl_arena *arena;
};

static int list_class(struct listing *l, const char *name, struct wl_err *e)
{
    struct wl_arena *tmp = wl_arena_new(l->arena);
    const char *folder = wl_path_join(tmp, l->source->dir, name);
    int32_t index = (int32_t)class_index(&l->source->labels, name);
    int64_t before = l->out->n;
    struct wl_strs files;
    int rc = wl_dir_list(folder, &files, tmp, e);
    for (size_t i = 0; rc == 0 && i < files.n; i++) {
        if (!is_jpeg_name(files.v[i])) continue;
        struct image image = { .name = l->names.n, .class_index = index };
        wl_text_addf(&l->names, "%s/%s", name, files.v[i]);
        wl_text_addn(&l->names, "", 1);
        WL_GROW(l->arena, l->out->v, (size_t)l->out->n, l->cap);
        l->out->v[l->out->n++] = image;
    }
    l->source->classes_present += l->out->n > before;
    if (rc == 0 && l->out->n == before) rc = wl_fail(e, WL_EINVAL, "%s: the class folder has no JPEG", folder);
    wl_arena_free(tmp);
    return rc;
}

static int part_exists(const char *dir, const char *part, const char *path, struct wl_err *e)
{
    if (wl_is_dir(path)) return 0;
    return wl_fail(e, WL_ENOENT,
                   "%s: no folder '%s'; expected %s/train/<class>/<name>.JPEG and val/ likewise, or TFRecord shards "
                   "train-00000-of-<N> ... and validation-00000-of-<N> ...",
                   dir, part, dir);
}

static int list_classes_of_part(struct listing *l, const char *train, struct wl_err *e)
{
    struct wl_image_source *s = l->source;
    struct wl_strs folders;
    int rc = wl_dir_list(s->dir, &folders, l->arena, e);
    for (size_t i = 0; rc == 0 && i < folders.n; i++) {
        if (folders.v[i][0] == '.' || !wl_is_dir(wl_path_join(l->arena, s->dir, folders.v[i]))) continue;
        if (class_index(&s->labels, folders.v[i]) < 0)
            return wl_fail(e, WL_EINVAL, "%s/%s: this class is not one of the %zu in %s", s->dir, folders.v[i],
                           s->labels.n, train);
        rc = list_class(l, folders.v[i], e);
    }
    return rc;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static int read_fd(struct wl_encoded_image *s, int fd, struct wl_err *e)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return wl_fail_errno(e, "%s", s->name);
    if (!S_ISREG(st.st_mode)) return wl_fail(e, WL_EINVAL, "%s: not a regular file", s->name);
    int rc = wl_byte_buffer_reserve(&s->bytes, (size_t)st.st_size, s->name, e);
    if (rc != 0) return rc;
    s->bytes.n = 0;
    while (s->bytes.n < (size_t)st.st_size) {
        ssize_t got = read(fd, s->bytes.p + s->bytes.n, (size_t)st.st_size - s->bytes.n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return wl_fail_errno(e, "%s", s->name);
        if (got == 0) break;
        s->bytes.n += (size_t)got;
    }
    s->jpeg = s->bytes.p;
    s->jpeg_n = s->bytes.n;
    return 0;
}

int wl_encoded_image_read_file(struct wl_encoded_image *s, struct wl_err *e)
{
    int fd = open(s->name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return wl_fail_errno(e, "%s", s->name);
    int rc = read_fd(s, fd, e);
    close(fd);
    return rc;
}

static int read_file(const struct wl_image_source *source, int64_t i, struct wl_encoded_image *out, struct wl_err *e)
{
    const struct images *images = source->data;
    const char *name = images->names + images->v[i].name;
    out->class_index = images->v[i].class_index;
    if (snprintf(out->name, sizeof out->name, "%s/%s", source->dir, name) >= (int)sizeof out->name)
        return wl_fail(e, WL_EINVAL, "%s/%s: path longer than %zu bytes", source->dir, name, sizeof out->name - 1);
    return wl_encoded_image_read_file(out, e);
}

int wl_image_folders_open(struct wl_image_source *s, const char *dir, bool train, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_image_source_ops ops = { .name = "folders", .read = read_file };
    const char *train_dir = wl_path_join(a, dir, "train"), *part = train ? "train" : "val";
    struct images *images = wl_new(a, struct images);
    struct listing l = { .source = s, .out = images, .names = WL_TEXT(a), .arena = a };
    int rc;
    *s = (struct wl_image_source) { .ops = &ops, .data = images, .dir = wl_path_join(a, dir, part) };
    if ((rc = part_exists(dir, "train", train_dir, e)) != 0) return rc;
    if ((rc = part_exists(dir, part, s->dir, e)) != 0) return rc;
    if ((rc = list_classes(train_dir, &s->labels, a, e)) != 0) return rc;
    if ((rc = list_classes_of_part(&l, train_dir, e)) != 0) return rc;
    if (images->n == 0) return wl_fail(e, WL_EINVAL, "%s: no images; expected %s/<class>/<name>.JPEG", s->dir, s->dir);
    images->names = l.names.s;
    s->n = s->total = images->n;
    s->classes = (int64_t)s->labels.n;
    return 0;
}
