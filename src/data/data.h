/* Data sets of the reference workloads: loaders that fill the training step's buffers, and generators that write small
 * data in the real formats.
 *
 * ImageNet folder layout: DIR/train/<class>/<name>.JPEG and DIR/val/<class>/<name>.JPEG. The class index is the place
 * of <class> among the sorted folder names of train/.
 *
 * TFRecord shards, as TensorFlow's script for ImageNet writes them: DIR/train-00000-of-01024 ... and
 * DIR/validation-00000-of-00128 ..., or those in DIR/train and DIR/validation. The class index is image/class/label
 * less one. What a DIR holds is recognised. docs/formats.md has both.
 */
#ifndef WL_DATA_DATA_H
#define WL_DATA_DATA_H

#include "base/base.h"

/* ---- images ---- */

struct wl_loader_opts {
    const char *dir;     /* folders or shards */
    bool train;          /* true: training set, shuffled, random crop and flip; false: validation, in order, centre */
    int64_t image_size;  /* S, pixels a side of what comes out; smaller images are enlarged, with one warning */
    int64_t classes;     /* of the network; 0: as many as there are, which shards need labels.txt for */
    int64_t samples;     /* use so many, evenly picked over the sorted list; 0: all. More than there are: WL_EINVAL */
    int64_t batch;       /* B, local batch */
    int64_t rank, ranks; /* this worker of how many */
    int64_t threads;     /* prefetch threads; 0: wl_loader_next decodes by itself */
    int64_t ring;        /* batches in flight; 0: 3 */
    uint64_t seed;
    bool ordered;   /* train only: in order, and bad images left out, as in validation; without `augment` */
    bool drop_last; /* leave out what does not fill a batch on every rank */
    bool skip_bad;  /* an unreadable image is counted and left out instead of being an error */
    bool skip_crc;  /* TFRecord: data are not compared with their checksums */
    bool augment;   /* train only: random resized crop and flip; false: centre crop as in validation */
};

/* Order and shares. The epoch's order is a permutation keyed by (seed, epoch), the same for any number of workers.
 * With G = ranks * B, call s (from 0) of rank r takes the places s*G + r*B ... + B-1: so W ranks with one call and one
 * rank with W calls see the same shards. Without drop_last the rest of R < G samples is the last call, where rank r
 * takes the places R*r/W ... R*(r+1)/W - 1 of the rest: every rank makes the same number of calls, and the last may
 * give n = 0. Every sample is then given exactly once over all ranks.
 *
 * Crop and flip are keyed by (seed, epoch, sample), so they depend on nothing else. */
struct wl_loader;

/* Lists the samples and starts the threads; they end with the arena. Errors: missing folder, no class, an empty class,
 * a val class that train lacks, a missing, cut-off, damaged or empty shard, more classes than opts->classes,
 * fewer samples than one global batch with drop_last. No image is opened yet; of shards every header is read once and
 * kept in an index file (docs/formats.md). */
int wl_loader_open(struct wl_loader **l, const struct wl_loader_opts *opts, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

int64_t wl_loader_samples(const struct wl_loader *l); /* of all ranks in one epoch, before drop_last */
int64_t wl_loader_classes(const struct wl_loader *l);
int64_t wl_loader_batches(const struct wl_loader *l);    /* calls of wl_loader_next that give a batch, per epoch */
const char *wl_loader_format(const struct wl_loader *l); /* "folders" or "TFRecord shards" */

/* NULL: the data has no names. */
const char *wl_loader_class_name(const struct wl_loader *l, int64_t class_index);

/* Starts an epoch (any number >= 0; it keys the order): prefetching begins. What is left of an epoch before is
 * dropped. */
int wl_loader_epoch(struct wl_loader *l, int64_t epoch, struct wl_err *e) WL_MUST_CHECK;

/* The next batch of this rank: 1 with x, y and *n written, 0 at the end of the epoch, or negative: WL_EINVAL or WL_EIO
 * naming the file, or shard and record, that could not be read or decoded.
 *   x [n,3,S,S] f32, room for B: (v/255 - mean) / std with ImageNet's mean and std, RGB    y [n] class index
 * *n is B but for the last call without drop_last, and, in val/ with skip_bad, where images were left out. In train/
 * with skip_bad the next readable sample in index order takes the place of a bad one, so that batches stay full. */
int wl_loader_next(struct wl_loader *l, float *x, int32_t *y, int64_t *n, struct wl_err *e) WL_MUST_CHECK;

int64_t wl_loader_waited_ns(const struct wl_loader *l); /* time that wl_loader_next was not fed, since opening */
int64_t wl_loader_bad(struct wl_loader *l);             /* files found unreadable with skip_bad, each counted once */

/* ---- synthetic images in the same layout ---- */

struct wl_synth_opts {
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
int wl_synth_imagenet(const struct wl_synth_opts *o, bool progress, int64_t *written, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

#endif
