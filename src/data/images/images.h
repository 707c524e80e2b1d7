/* Images in the layouts of ImageNet as a data set.
 *
 * ImageFolder layout: DIR/train/<class>/<name>.JPEG and DIR/val/<class>/<name>.JPEG. The class index is the position of
 * <class> among the sorted folder names of train/.
 *
 * TFRecord shards, as TensorFlow's script for ImageNet writes them: DIR/train-00000-of-01024 ... and
 * DIR/validation-00000-of-00128 ..., or those in DIR/train and DIR/validation. The class index is image/class/label
 * minus one. The layout of DIR is recognised. docs/formats.md has both. */
#ifndef WL_DATA_IMAGES_IMAGES_H
#define WL_DATA_IMAGES_IMAGES_H

#include "data/dataset.h"

struct wl_images_opts {
    const char *dir;    /* folders or shards */
    bool train;         /* true: training set; false: validation set */
    int64_t image_size; /* S, pixels per side of the samples; smaller images are enlarged, with one warning */
    int64_t classes;    /* of the network; 0: as many as the data have, which for shards needs labels.txt */
    int64_t samples;    /* number to use, evenly spaced over the sorted list; 0: all. More than there are: WL_EINVAL */
    bool skip_crc;      /* TFRecord: do not verify the checksums of data */
    bool augment;       /* in training, random resized crop and flip instead of the centre crop */
    bool silent;        /* another rank logs the warnings */
};

/* One part of the data. Its buffers:
 *   x [B,3,S,S] u8, RGB    y [B] i32 class index, -1: padding
 * Crop and flip depend only on (seed, epoch, sample). */
struct wl_images;

/* Lists the samples. Errors: missing folder, no class, an empty class, a val class that train lacks, a missing,
 * truncated, damaged or empty shard, more classes than opts->classes. No image is opened yet; of shards every header is
 * read once and kept in an index file (docs/formats.md). */
int wl_images_open(struct wl_images **l, const struct wl_images_opts *opts, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

const struct wl_dataset *wl_images_dataset(const struct wl_images *l);
int64_t wl_images_classes(const struct wl_images *l);
const char *wl_images_format(const struct wl_images *l); /* "folders" or "TFRecord shards" */

#endif
