/* Writes synthetic images into class folders or shards. */
#ifndef WL_DATA_IMAGES_SYNTH_WRITE_H
#define WL_DATA_IMAGES_SYNTH_WRITE_H

#include "data/images/synth.h"

#include <stdatomic.h>

struct wl_imagenet_synth_writer; /* drawing and encoding, of one thread */

int wl_imagenet_synth_writer_new(struct wl_imagenet_synth_writer **writer, const struct wl_imagenet_synth_opts *o,
                                 struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The work is divided into units: an image, or a shard. Opts are complete (no 0 for a default). */
int64_t wl_imagenet_synth_units(const struct wl_imagenet_synth_opts *o);

/* Writes one unit; increments *done for each image. */
int wl_imagenet_synth_write(struct wl_imagenet_synth_writer *writer, int64_t unit, atomic_llong *done,
                            struct wl_err *e) WL_MUST_CHECK;

/* Writes what must exist before: folders, or the names of the classes. */
int wl_imagenet_synth_prepare(const struct wl_imagenet_synth_opts *o, struct wl_arena *a,
                              struct wl_err *e) WL_MUST_CHECK;

#endif
