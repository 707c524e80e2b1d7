/* Pictures in the layouts of ImageNet, as data sets and as synthetic ones.
 *
 * ImageNet folder layout: DIR/train/<class>/<name>.JPEG and DIR/val/<class>/<name>.JPEG. The class index is the place
 * of <class> among the sorted folder names of train/.
 *
 * TFRecord shards, as TensorFlow's script for ImageNet writes them: DIR/train-00000-of-01024 ... and
 * DIR/validation-00000-of-00128 ..., or those in DIR/train and DIR/validation. The class index is image/class/label
 * less one. What a DIR holds is recognised. docs/formats.md has both.
 */
#ifndef WL_DATA_IMAGES_IMAGES_H
#define WL_DATA_IMAGES_IMAGES_H

#include "data/loader/loader.h"

/* ---- images ---- */

struct wl_images_opts {
    const char *dir;    /* folders or shards */
    bool train;         /* true: training set; false: validation */
    int64_t image_size; /* S, pixels a side of what comes out; smaller images are enlarged, with one warning */
    int64_t classes;    /* of the network; 0: as many as there are, which shards need labels.txt for */
    int64_t samples;    /* use so many, evenly picked over the sorted list; 0: all. More than there are: WL_EINVAL */
    bool skip_crc;      /* TFRecord: data are not compared with their checksums */
    bool augment;       /* in training passes random resized crop and flip instead of the centre */
    bool silent;        /* another rank gives the warnings */
};

/* One part of a data set, as a set for feeds. Its inputs:
 *   x [B,3,S,S] f32: (v/255 - mean) / std with ImageNet's mean and std, RGB    y [B] i32 class index, -1: padding
 * Crop and flip are keyed by (seed, epoch, sample), so they depend on nothing else. */
struct wl_images;

/* Lists the samples. Errors: missing folder, no class, an empty class, a val class that train lacks, a missing,
 * cut-off, damaged or empty shard, more classes than opts->classes. No image is opened yet; of shards every header is
 * read once and kept in an index file (docs/formats.md). */
int wl_images_open(struct wl_images **l, const struct wl_images_opts *opts, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

const struct wl_dataset *wl_images_dataset(const struct wl_images *l);
int64_t wl_images_classes(const struct wl_images *l);
const char *wl_images_format(const struct wl_images *l); /* "folders" or "TFRecord shards" */

/* ---- synthetic images in the same layout ---- */

struct wl_imagenet_synth_opts {
    const char *dir;    /* made if it is not there */
    int64_t classes;    /* 2 to 1000 */
    int64_t images;     /* of train/, all classes together; at least one a class */
    int64_t val_images; /* of val/, all classes together; 0: images / 5, at least one a class */
    int64_t size;       /* pixels a side */
    int64_t seed;
    int64_t threads;    /* 0: one a core */
    bool tfrecord;      /* shards instead of class folders: the same pictures in the order of the sorted folders */
    int64_t shards;     /* of the training set; 0: 8 */
    int64_t val_shards; /* set from shards: an eighth of them */
};

/* Writes JPEGs that can be learned, and a manifest last. The same bytes for the same settings, any
 * number of threads. A folder that a manifest of the same settings calls complete is left as it is (*written = 0); one
 * of other settings, or with foreign content, is WL_EINVAL. `progress` draws a bar on stderr. */
int wl_imagenet_synth(const struct wl_imagenet_synth_opts *o, bool progress, int64_t *written, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

#endif
