
#include "data/images/synth_write.h"

#include "data/images/synth_draw.h"
#include "data/tfrecord/example.h"
#include "data/tfrecord/tfrecord.h"

#include <stdlib.h>
#include <turbojpeg.h>
#include <unistd.h>

enum { QUALITY = 90 };

struct wl_imagenet_synth_writer {
    const struct wl_imagenet_synth_opts *o;
    tjhandle jpeg;
    uint8_t *rgb, *file;           /* file: room for the largest JPEG of this size */
    size_t n;                      /* of the file */
    struct wl_byte_buffer example; /* of shards */
};

static void synth_writer_release(void *what)
{
    struct wl_imagenet_synth_writer *writer = what;
    if (writer->jpeg) tjDestroy(writer->jpeg);
    free(writer->example.p);
}

int wl_imagenet_synth_writer_new(struct wl_imagenet_synth_writer **out, const struct wl_imagenet_synth_opts *o,
                                 struct wl_arena *a, struct wl_err *e)
{
    struct wl_imagenet_synth_writer *writer = wl_new(a, struct wl_imagenet_synth_writer);
    int size = (int)o->size;
    writer->o = o;
    wl_defer(a, synth_writer_release, writer);
    writer->rgb = wl_try_alloc(a, (size_t)(3 * o->size * o->size), 64, "an image", e);
    writer->file = wl_try_alloc(a, tjBufSize(size, size, TJSAMP_420), 64, "a JPEG", e);
    if (!writer->rgb || !writer->file) return WL_ENOMEM;
    writer->jpeg = tjInitCompress();
    if (!writer->jpeg) return wl_fail(e, WL_ELIB, "libjpeg-turbo: %s", tjGetErrorStr2(NULL));
    *out = writer;
    return 0;
}

/* Encodes image i of a part to writer->file. */
static int draw(struct wl_imagenet_synth_writer *writer, bool val, int64_t i, struct wl_err *e)
{
    int size = (int)writer->o->size;
    unsigned long n = tjBufSize(size, size, TJSAMP_420);
    wl_imagenet_synth_draw(writer->rgb, size, writer->o->classes, (uint64_t)writer->o->seed, val, i);
    if (tjCompress2(writer->jpeg, writer->rgb, size, 0, size, TJPF_RGB, &writer->file, &n, TJSAMP_420, QUALITY,
                    TJFLAG_NOREALLOC) != 0)
        return wl_fail(e, WL_ELIB, "libjpeg-turbo: %s", tjGetErrorStr2(writer->jpeg));
    writer->n = n;
    return 0;
}

static const char *part_name(bool val) { return val ? "val" : "train"; }

/* The folder has our manifest, so an existing file is from an interrupted call. Links are not followed. */
static int open_new(FILE **f, const char *path, struct wl_err *e)
{
    unlink(path);
    *f = fopen(path, "wxe");
    return *f ? 0 : wl_fail_errno(e, "%s", path);
}

static int close_new(FILE *f, const char *path, int rc, struct wl_err *e)
{
    if (fclose(f) != 0 && rc == 0) rc = wl_fail_errno(e, "%s", path);
    return rc;
}

/* ---- class folders: a unit is an image -------------------------------------------------------------------------- */

static int write_image(struct wl_imagenet_synth_writer *writer, bool val, int64_t i, struct wl_err *e)
{
    const struct wl_imagenet_synth_opts *o = writer->o;
    char path[4096];
    FILE *f;
    int n = snprintf(path, sizeof path, "%s/%s/class%04lld/%s_%07lld.JPEG", o->dir, part_name(val),
                     (long long)(i % o->classes), part_name(val), (long long)i);
    if (n >= (int)sizeof path) return wl_fail(e, WL_EINVAL, "%s: path too long", o->dir);
    int rc = draw(writer, val, i, e);
    if (rc == 0) rc = open_new(&f, path, e);
    if (rc != 0) return rc;
    if (fwrite(writer->file, 1, writer->n, f) != writer->n) rc = wl_fail_errno(e, "%s", path);
    return close_new(f, path, rc, e);
}

static int make_folders(const struct wl_imagenet_synth_opts *o, struct wl_arena *a, struct wl_err *e)
{
    for (int val = 0; val < 2; val++)
        for (int64_t k = 0; k < o->classes; k++) {
            int rc = wl_mkdirs(wl_strf(a, "%s/%s/class%04lld", o->dir, part_name(val), (long long)k), e);
            if (rc != 0) return rc;
        }
    return 0;
}

/* ---- shards: a unit is a shard ----------------------------------------------------------------------------------- */

/* Index of the image at a position of the sorted list of n images: class by class, each in ascending order. */
static int64_t image_index_at(int64_t position, int64_t n, int64_t classes)
{
    int64_t fuller = n % classes, each = n / classes; /* the first `fuller` classes have one more */
    int64_t inside = position - fuller * (each + 1);
    if (inside < 0) return position % (each + 1) * classes + position / (each + 1);
    return inside % each * classes + fuller + inside / each;
}

/* The features that TensorFlow's script writes, except bounding boxes. */
static int write_example(struct wl_imagenet_synth_writer *writer, bool val, int64_t i, FILE *to, const char *path,
                         struct wl_err *e)
{
    const struct wl_imagenet_synth_opts *o = writer->o;
    char name[64], class_name[32];
    int name_n = snprintf(name, sizeof name, "%s_%07lld.JPEG", part_name(val), (long long)i);
    int class_n = snprintf(class_name, sizeof class_name, "class%04lld", (long long)(i % o->classes));
    int rc = draw(writer, val, i, e);
    if (rc != 0) return rc;
    const struct wl_tf_feature features[] = {
        { "image/height", WL_TF_FEATURE_INT64, .value = o->size },
        { "image/width", WL_TF_FEATURE_INT64, .value = o->size },
        { "image/colorspace", WL_TF_FEATURE_BYTES, .bytes = "RGB", .n = 3 },
        { "image/channels", WL_TF_FEATURE_INT64, .value = 3 },
        { "image/class/label", WL_TF_FEATURE_INT64, .value = i % o->classes + 1 },
        { "image/class/synset", WL_TF_FEATURE_BYTES, .bytes = class_name, .n = (size_t)class_n },
        { "image/format", WL_TF_FEATURE_BYTES, .bytes = "JPEG", .n = 4 },
        { "image/filename", WL_TF_FEATURE_BYTES, .bytes = name, .n = (size_t)name_n },
        { "image/encoded", WL_TF_FEATURE_BYTES, .bytes = writer->file, .n = writer->n },
    };
    if ((rc = wl_tf_example_write(&writer->example, features, WL_COUNT(features), e)) != 0) return rc;
    return wl_tfrecord_write(to, path, writer->example.p, writer->example.n, e);
}

static int write_shard(struct wl_imagenet_synth_writer *writer, bool val, int64_t shard, atomic_llong *done,
                       struct wl_err *e)
{
    const struct wl_imagenet_synth_opts *o = writer->o;
    int64_t images = val ? o->val_images : o->images, shards = val ? o->val_shards : o->shards;
    char path[4096];
    FILE *f;
    int n = snprintf(path, sizeof path, "%s/%s-%05lld-of-%05lld", o->dir, val ? "validation" : "train",
                     (long long)shard, (long long)shards);
    if (n >= (int)sizeof path) return wl_fail(e, WL_EINVAL, "%s: path too long", o->dir);
    int rc = open_new(&f, path, e);
    if (rc != 0) return rc;
    for (int64_t i = images * shard / shards; rc == 0 && i < images * (shard + 1) / shards; i++) {
        rc = write_example(writer, val, image_index_at(i, images, o->classes), f, path, e);
        atomic_fetch_add(done, 1);
    }
    return close_new(f, path, rc, e);
}

static int write_labels(const struct wl_imagenet_synth_opts *o, struct wl_arena *a, struct wl_err *e)
{
    struct wl_text names = WL_TEXT(a);
    for (int64_t k = 0; k < o->classes; k++) wl_text_addf(&names, "class%04lld\n", (long long)k);
    return wl_file_write(wl_path_join(a, o->dir, "labels.txt"), names.s, names.n, e);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

int64_t wl_imagenet_synth_units(const struct wl_imagenet_synth_opts *o)
{
    return o->tfrecord ? o->shards + o->val_shards : o->images + o->val_images;
}

int wl_imagenet_synth_write(struct wl_imagenet_synth_writer *writer, int64_t unit, atomic_llong *done, struct wl_err *e)
{
    int64_t train = writer->o->tfrecord ? writer->o->shards : writer->o->images;
    bool val = unit >= train;
    if (val) unit -= train;
    if (writer->o->tfrecord) return write_shard(writer, val, unit, done, e);
    int rc = write_image(writer, val, unit, e);
    atomic_fetch_add(done, 1);
    return rc;
}

int wl_imagenet_synth_prepare(const struct wl_imagenet_synth_opts *o, struct wl_arena *a, struct wl_err *e)
{
    return o->tfrecord ? write_labels(o, a, e) : make_folders(o, a, e);
}
