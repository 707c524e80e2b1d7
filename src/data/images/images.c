/* The threads crop and resize; the network normalises. */
#include "data/images/images.h"

#include "data/images/resize.h"

#include <stdatomic.h>
#include <stdlib.h>

struct wl_images {
    struct wl_dataset set;
    struct wl_image_source source;
    size_t size; /* S */
    bool augment, log_warnings;
    atomic_flag small_seen; /* a small image was warned about */
};

/* The state of one thread. */
struct reader {
    struct wl_encoded_image sample;
    struct wl_jpeg *jpeg;
    struct wl_resize *resize;
};

static const struct wl_images *images_of(const struct wl_dataset *s) { return (const struct wl_images *)s->data; }

/* ---- one image --------------------------------------------------------------------------------------------------- */

/* Small images are enlarged, as in torchvision; many of them suggest another data set or a wrong --image-size. */
static void warn_small_image(struct wl_images *l, const char *name, int width, int height)
{
    if (atomic_flag_test_and_set(&l->small_seen) || !l->log_warnings) return;
    wl_log(WL_WARN, "data", "%s: %d x %d pixels, smaller than the requested %zu x %zu; such images are enlarged", name,
           width, height, l->size, l->size);
}

static struct wl_crop crop_of(const struct wl_images *l, const struct wl_epoch_key *key, int64_t index, int width,
                              int height)
{
    if (!key->training || !l->augment) return wl_crop_centre(width, height);
    struct wl_rng d = wl_rng(key->seed, "augment", (uint64_t)key->epoch, (uint64_t)index);
    return wl_crop_random(width, height, &d);
}

/* buffers: pixels [3,S,S], label */
static int write_sample(const struct wl_dataset *s, void *thread, const struct wl_epoch_key *key, int64_t index,
                        void *const *buffers, struct wl_err *e)
{
    struct wl_images *l = s->data;
    struct reader *r = thread;
    struct wl_decoded_image pixels;
    int width, height, rc;
    if ((rc = wl_image_source_read(&l->source, index, &r->sample, e)) != 0) return rc;
    if ((rc = wl_jpeg_open(r->jpeg, &r->sample, &width, &height, e)) != 0) return rc;
    if ((size_t)width < l->size || (size_t)height < l->size) warn_small_image(l, r->sample.name, width, height);
    const struct wl_crop crop = crop_of(l, key, index, width, height);
    rc = wl_jpeg_decode(r->jpeg, wl_crop_scale_denominator(&crop, (int)l->size), &pixels, e);
    *(int32_t *)buffers[1] = r->sample.class_index;
    return rc == 0 ? wl_resize(r->resize, &pixels, &crop, buffers[0], e) : rc;
}

/* A label below 0 marks padding; the pixels do not matter. */
static void pad(const struct wl_dataset *s, void *const *buffers)
{
    (void)s;
    *(int32_t *)buffers[1] = -1;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void reader_release(void *what)
{
    struct reader *r = what;
    free(r->sample.bytes.p);
}

static int open_thread(const struct wl_dataset *s, void **thread, struct wl_arena *a, struct wl_err *e)
{
    struct reader *r = wl_new(a, struct reader);
    *thread = r;
    r->resize = wl_resize_new((int)images_of(s)->size, a);
    wl_defer(a, reader_release, r);
    return wl_jpeg_new(&r->jpeg, a, e);
}

static const struct wl_dataset_ops ops = {
    .noun = "image",
    .bad_sample_hint = "--skip-bad skips such images",
    .open_thread = open_thread,
    .write_sample = write_sample,
    .pad = pad,
};

/* May be intended, or a mistake. */
static void warn_class_count(const struct wl_images *l, bool train)
{
    const struct wl_image_source *s = &l->source;
    long long found = (long long)s->labels.n, classes = (long long)s->classes;
    if (!l->log_warnings || found == 0) return;
    if (train && found < classes)
        wl_log(WL_WARN, "data", "%s: %lld classes, fewer than the network's %lld (--classes): the rest have no images",
               s->dir, found, classes);
    if (!train && s->classes_present && s->classes_present < found)
        wl_log(WL_WARN, "data", "%s: images of %lld classes, but the training set has %lld", s->dir,
               (long long)s->classes_present, found);
}

int wl_images_open(struct wl_images **out, const struct wl_images_opts *o, struct wl_arena *a, struct wl_err *e)
{
    struct wl_images *l = wl_new(a, struct wl_images);
    WL_CHECK(o->image_size > 0);
    int rc = wl_image_source_open(&l->source, wl_strdup(a, o->dir), o->train, o->classes, a, e);
    if (rc == 0) rc = wl_image_source_limit(&l->source, o->samples, e);
    if (rc != 0) return rc;
    l->source.check_crc = !o->skip_crc;
    l->size = (size_t)o->image_size;
    l->augment = o->augment;
    l->log_warnings = !o->silent;
    atomic_flag_clear(&l->small_seen);
    warn_class_count(l, o->train);
    const size_t pixels = 3 * l->size * l->size;
    l->set = (struct wl_dataset) { .ops = &ops,
                                   .name = l->source.dir,
                                   .samples = l->source.n,
                                   .buffers = 2,
                                   .bytes = { pixels, sizeof(int32_t) },
                                   .data = l };
    *out = l;
    return 0;
}

const struct wl_dataset *wl_images_dataset(const struct wl_images *l) { return &l->set; }
int64_t wl_images_classes(const struct wl_images *l) { return l->source.classes; }
const char *wl_images_format(const struct wl_images *l) { return l->source.ops->name; }
