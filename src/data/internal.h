/* Parts of the image loader and of the synthetic generator. */
#ifndef WL_DATA_INTERNAL_H
#define WL_DATA_INTERNAL_H

#include "data/data.h"

#include <stdatomic.h>
#include <stdio.h>

/* ---- a sequence of random numbers: element after element of one stream of base/random.h ---- */

struct wl_rng {
    uint64_t key, stream, i;
};

/* Keyed by the user's seed, what the numbers are for, and two positions; `a` below 2^24, `b` below 2^40. */
struct wl_rng wl_rng(uint64_t seed, const char *purpose, uint64_t a, uint64_t b);
double wl_rng_uniform(struct wl_rng *d, double low, double high); /* uniform in [low, high) */
uint64_t wl_rng_below(struct wl_rng *d, uint64_t n);
double wl_rng_normal(struct wl_rng *d);

/* ---- order.c: which samples a rank sees in which call ---- */

struct wl_partition {
    int64_t samples, batch, ranks, rank;
    bool drop_last;
};

int64_t wl_partition_steps(const struct wl_partition *s);

/* The places [*from, *from + n) of the epoch's order that this rank takes in call `step`; returns n. */
int64_t wl_partition_range(const struct wl_partition *s, int64_t step, int64_t *from);

/* Fills order[0..n) with the permutation of an epoch. */
void wl_partition_shuffle(uint32_t *order, int64_t n, uint64_t seed, int64_t epoch);

/* ---- source.c: encoded pictures by number, whatever they lie in ---- */

/* Bytes that grow to the largest sample and stay. */
struct wl_byte_buffer {
    uint8_t *p;
    size_t n, cap;
};

/* Room for n bytes in all; what was there may be gone. WL_ENOMEM names what they are for. */
int wl_byte_buffer_reserve(struct wl_byte_buffer *b, size_t n, const char *what, struct wl_err *e) WL_MUST_CHECK;

/* A sample as it was read; one for each thread, released with free(bytes.p). */
struct wl_encoded_image {
    struct wl_byte_buffer bytes; /* the file or the record */
    const uint8_t *jpeg;         /* [jpeg_n], in bytes */
    size_t jpeg_n;
    int32_t class_index;
    char name[4608]; /* for messages: the file, or shard, record and file name */
};

struct wl_image_source;

struct wl_image_source_ops {
    const char *name; /* "folders" or "TFRecord shards" */
    int (*read)(const struct wl_image_source *s, int64_t i, struct wl_encoded_image *out, struct wl_err *e);
};

/* A list of samples, in an order that depends on the data alone. */
struct wl_image_source {
    const struct wl_image_source_ops *ops;
    const char *dir;       /* for messages: DIR/train, or DIR/train-*-of-00008 */
    int64_t n, all;        /* samples in use, of so many */
    struct wl_strs labels; /* names of the classes; empty where the data has none */
    int64_t classes;       /* of the network: the data may have fewer */
    int64_t present;       /* classes that have a picture in this part; 0: not known */
    bool check_crc;
    const void *own; /* of the ops */
};

/* Finds out what is in DIR and lists one part of it. `classes`: what the network has, 0: as many as the data; fewer
 * than the data has is WL_EINVAL. */
int wl_image_source_open(struct wl_image_source *s, const char *dir, bool train, int64_t classes, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* Keeps `samples` of them, evenly spaced, so that sorted classes keep their shares; 0: all. */
int wl_image_source_limit(struct wl_image_source *s, int64_t samples, struct wl_err *e) WL_MUST_CHECK;

/* Reads sample i. Any thread, with an `out` of its own. */
int wl_image_source_read(const struct wl_image_source *s, int64_t i, struct wl_encoded_image *out,
                         struct wl_err *e) WL_MUST_CHECK;

/* ---- files.c: the folder layout ---- */

/* Lists DIR/train or DIR/val. */
int wl_image_folders_open(struct wl_image_source *s, const char *dir, bool train, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

/* Reads the file s->name. */
int wl_encoded_image_read_file(struct wl_encoded_image *s, struct wl_err *e) WL_MUST_CHECK;

/* ---- wire.c: integers as bytes ---- */

uint64_t wl_le_read(const uint8_t *p, int bytes); /* little-endian, up to 8 bytes */
void wl_le_write(uint8_t *p, int bytes, uint64_t v);

/* What is left to read. */
struct wl_byte_span {
    const uint8_t *p, *end;
};

/* Varints of protocol buffers: seven bits a byte, the lowest first, at most WL_VARINT_MAX_BYTES bytes. */
enum { WL_VARINT_MAX_BYTES = 10 };
bool wl_varint_read(struct wl_byte_span *s, uint64_t *v); /* false: cut off, or too long */
size_t wl_varint_size(uint64_t v);
uint8_t *wl_varint_put(uint8_t *p, uint64_t v); /* returns what is behind it */

/* ---- shards.c: TFRecord shards ---- */

/* Does the folder hold files called PREFIX-00000-of-00001 and the like? */
bool wl_image_shards_exist(const char *dir, const char *prefix, struct wl_arena *a);

/* Lists the shards DIR/PREFIX-*, and every record in them. */
int wl_image_shards_open(struct wl_image_source *s, const char *dir, const char *prefix, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* ---- tfrecord.c: the records of one file ---- */

enum { WL_TFRECORD_HEADER = 12, WL_TFRECORD_FOOTER = 4 }; /* bytes around the data of a record */

/* Where the records of a file begin: record i takes the bytes at[i] ... at[i+1]-1. */
struct wl_tfrecord_file {
    const char *path;
    uint64_t *at; /* [n+1] */
    int64_t n;
};

/* One pass over the headers of r->path. WL_EINVAL: no TFRecord file, a damaged length, a cut-off record, no record. */
int wl_tfrecord_scan(struct wl_tfrecord_file *r, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- scan.c: the records of many files ---- */

/* Scans n files, several at a time. The error is that of the first bad one. */
int wl_tfrecord_scan_all(struct wl_tfrecord_file *v, int64_t n, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- index.c: what a scan found, kept for the next time ---- */

/* Fills v[0..n), whose paths are set, from the index file of the shards DIR/PREFIX-*; where it is not there, damaged or
 * older than a shard, scans them and writes it: DIR/PREFIX.wattlaw-index, or in ${XDG_CACHE_HOME:-~/.cache}/wattlaw
 * where DIR cannot be written to. Of the processes of a node that need it at once, one scans and the others wait. That
 * it cannot be written is no error. */
int wl_tfrecord_index_open(struct wl_tfrecord_file *v, int64_t n, const char *dir, const char *prefix,
                           struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Reads record i (from 0): its data are the *n bytes at *data, in buf. check_crc: of the data, too. Messages name file,
 * record (from 1) and byte. */
int wl_tfrecord_read(const struct wl_tfrecord_file *r, int64_t i, bool check_crc, struct wl_byte_buffer *buf,
                     const uint8_t **data, size_t *n, struct wl_err *e) WL_MUST_CHECK;

/* Appends a record: length, its checksum, data, their checksum. */
int wl_tfrecord_write(FILE *to, const char *path, const uint8_t *data, size_t n, struct wl_err *e) WL_MUST_CHECK;

/* ---- example.c: tf.train.Example, as far as pictures need it ---- */

/* What is not there: NULL, or false. Pointers lead into the bytes that were parsed. */
struct wl_tf_example {
    const uint8_t *encoded; /* image/encoded */
    size_t encoded_n;
    const char *filename; /* image/filename, not terminated */
    size_t filename_n;
    int64_t label; /* image/class/label */
    bool has_label;
};

/* WL_EINVAL names the byte at which the bytes stop making sense. Features of other names are passed over. */
int wl_tf_example_parse(struct wl_tf_example *out, const uint8_t *data, size_t n, struct wl_err *e) WL_MUST_CHECK;

enum wl_tf_feature_kind { WL_TF_FEATURE_BYTES = 1, WL_TF_FEATURE_INT64 = 3 }; /* field numbers of tf.train.Feature */

/* A feature with one value. */
struct wl_tf_feature {
    const char *key;
    enum wl_tf_feature_kind kind;
    const void *bytes; /* [n] of BYTES */
    size_t n;
    int64_t value; /* of INT64 */
};

/* Writes an Example of these features into buf, from its beginning. */
int wl_tf_example_write(struct wl_byte_buffer *buf, const struct wl_tf_feature *features, size_t count,
                        struct wl_err *e) WL_MUST_CHECK;

/* ---- jpeg.c: one decoder for each thread; its buffers grow to the largest image and stay ---- */

struct wl_jpeg;

/* RGB, 3 bytes a pixel, rows of 3 * width bytes. */
struct wl_decoded_image {
    const uint8_t *rgb;
    int width, height;
    int reduced; /* 1, 2, 4 or 8: one pixel stands for so many of the file's */
};

int wl_jpeg_new(struct wl_jpeg **j, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Reads the header of a JPEG in memory, which stays until it is decoded. WL_EINVAL (no JPEG) names it. */
int wl_jpeg_open(struct wl_jpeg *j, const struct wl_encoded_image *sample, int *width, int *height,
                 struct wl_err *e) WL_MUST_CHECK;

/* Decodes what was opened, reduced by `reduce` (1, 2, 4, 8). Cut-off files are WL_EINVAL. */
int wl_jpeg_decode(struct wl_jpeg *j, int reduce, struct wl_decoded_image *out, struct wl_err *e) WL_MUST_CHECK;

/* ---- crop.c: the part of an image that is used, in pixels of the file ---- */

struct wl_crop {
    double x, y, width, height;
    bool flip; /* left to right */
};

/* torchvision's RandomResizedCrop (area .08 to 1, aspect 3/4 to 4/3, ten attempts, then the centre) and a flip with
 * probability 1/2. */
struct wl_crop wl_crop_random(int width, int height, struct wl_rng *d);

/* Short side to S * 256/224, then the centre S x S: that is the centre square with 224/256 of the short side. */
struct wl_crop wl_crop_centre(int width, int height);

/* The largest reduction (1, 2, 4, 8) at which the crop still has S pixels a side. */
int wl_crop_reduction(const struct wl_crop *crop, int image_size);

/* ---- resize.c ---- */

struct wl_resize; /* weights and rows of one thread */

struct wl_resize *wl_resize_new(int image_size, struct wl_arena *a);

/* Crop, resize (bilinear, with the triangle filter widened when shrinking, as Pillow does), flip.
 *   out [3,S,S] planes of R, G, B */
int wl_resize(struct wl_resize *r, const struct wl_decoded_image *from, const struct wl_crop *crop, uint8_t *out,
              struct wl_err *e) WL_MUST_CHECK;

/* ---- manifest.c: what generated data are ---- */

/* Before anything is written: makes the folder, and a file in it with the settings (lines of INI text). *complete: the
 * same settings were finished there before. WL_EINVAL: data of other settings, or foreign content. */
int wl_manifest_begin(const char *dir, const char *settings, bool *complete, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* When everything is there. */
int wl_manifest_end(const char *dir, const char *settings, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- synth_write.c: pictures into class folders or shards ---- */

struct wl_imagenet_synth_writer; /* drawing and encoding, of one thread */

int wl_imagenet_synth_writer_new(struct wl_imagenet_synth_writer **pen, const struct wl_imagenet_synth_opts *o,
                                 struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The work is divided into units: a picture, or a shard. Opts are complete (no 0 that stands for a default). */
int64_t wl_imagenet_synth_units(const struct wl_imagenet_synth_opts *o);

/* Writes one unit; adds to *done for each picture. */
int wl_imagenet_synth_write(struct wl_imagenet_synth_writer *pen, int64_t unit, atomic_llong *done,
                            struct wl_err *e) WL_MUST_CHECK;

/* What has to be there before: folders, or the names of the classes. */
int wl_imagenet_synth_prepare(const struct wl_imagenet_synth_opts *o, struct wl_arena *a,
                              struct wl_err *e) WL_MUST_CHECK;

/* ---- draw.c: one synthetic image ---- */

/* Image i of a part (0: train, 1: val), of class i % classes.   rgb [size,size,3] */
void wl_imagenet_synth_draw(uint8_t *rgb, int size, int64_t classes, uint64_t seed, int part, int64_t i);

#endif
