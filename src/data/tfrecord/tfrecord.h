/* The records of one TFRecord file. */
#ifndef WL_DATA_TFRECORD_TFRECORD_H
#define WL_DATA_TFRECORD_TFRECORD_H

#include "data/byte_buffer.h"

#include <stdio.h>

enum { WL_TFRECORD_HEADER = 12, WL_TFRECORD_FOOTER = 4 }; /* bytes around the data of a record */

/* Offsets of the records: record i is the bytes offset[i] ... offset[i+1]-1. */
struct wl_tfrecord_file {
    const char *path;
    uint64_t *offset; /* [n+1] */
    int64_t n;
};

/* Reads the record headers of r->path. WL_EINVAL: not a TFRecord file, a damaged length, a truncated record, no record.
 */
int wl_tfrecord_scan(struct wl_tfrecord_file *r, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Reads record i (from 0): its data are the *n bytes at *data, in buf. check_crc: verify the checksum of the data too.
 * Messages name file, record (from 1) and byte. */
int wl_tfrecord_read(const struct wl_tfrecord_file *r, int64_t i, bool check_crc, struct wl_byte_buffer *buf,
                     const uint8_t **data, size_t *n, struct wl_err *e) WL_MUST_CHECK;

/* Appends a record: length, its checksum, data, their checksum. */
int wl_tfrecord_write(FILE *to, const char *path, const uint8_t *data, size_t n, struct wl_err *e) WL_MUST_CHECK;

#endif
