/* Synthetic images in the layouts of ImageNet. */
#ifndef WL_DATA_IMAGES_SYNTH_H
#define WL_DATA_IMAGES_SYNTH_H

#include "base/base.h"

struct wl_imagenet_synth_opts {
    const char *dir;    /* created if missing */
    int64_t classes;    /* 2 to 1000 */
    int64_t images;     /* of the training set, all classes together; at least one per class */
    int64_t val_images; /* of the validation set, likewise; 0: images / 5, at least one per class */
    int64_t size;       /* pixels per side */
    int64_t seed;
    int64_t threads;    /* 0: one per core */
    bool tfrecord;      /* shards instead of class folders: the same images in the order of the sorted folders */
    int64_t shards;     /* of the training set; 0: 8 */
    int64_t val_shards; /* set from shards: one eighth of them */
};

/* Writes JPEGs that can be learned, and then a manifest. The same bytes for the same settings, with any number of
 * threads. A folder whose manifest has the same settings and is complete stays unchanged (*written = 0); one of other
 * settings, or with foreign content, is WL_EINVAL. `progress` draws a bar on stderr. */
int wl_imagenet_synth(const struct wl_imagenet_synth_opts *o, bool progress, int64_t *written, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

#endif
