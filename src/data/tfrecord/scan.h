#ifndef WL_DATA_TFRECORD_SCAN_H
#define WL_DATA_TFRECORD_SCAN_H

#include "data/tfrecord/tfrecord.h"

/* Scans n files, several at a time. The error is that of the first bad one. */
int wl_tfrecord_scan_all(struct wl_tfrecord_file *v, int64_t n, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
