/* The shard index: a cache of record offsets. */
#ifndef WL_DATA_TFRECORD_INDEX_H
#define WL_DATA_TFRECORD_INDEX_H

#include "data/tfrecord/tfrecord.h"

/* Fills v[0..n), whose paths are set, from the index file of the shards DIR/PREFIX-*. If that is missing, damaged or
 * older than a shard, scans the shards and writes it: DIR/PREFIX.wattlaw-index, or below
 * ${XDG_CACHE_HOME:-~/.cache}/wattlaw where DIR is not writable. Of the processes of a node that need it at once, one
 * scans and the others wait. Failing to write the index is not an error. */
int wl_tfrecord_index_open(struct wl_tfrecord_file *v, int64_t n, const char *dir, const char *prefix,
                           struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
