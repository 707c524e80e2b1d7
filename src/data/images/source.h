/* Encoded images by index, from either layout. */
#ifndef WL_DATA_IMAGES_SOURCE_H
#define WL_DATA_IMAGES_SOURCE_H

#include "data/byte_buffer.h"

/* A sample as read; one per thread, released with free(bytes.p). */
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
    const char *dir;         /* for messages: DIR/train, or DIR/train-*-of-00008 */
    int64_t n, total;        /* samples in use, of how many */
    struct wl_strs labels;   /* class names; empty if the data have none */
    int64_t classes;         /* of the network: the data may have fewer */
    int64_t classes_present; /* classes with an image in this part; 0: unknown */
    bool check_crc;
    const void *data; /* of the ops */
};

/* Recognises the layout of DIR and lists one part of it. `classes`: of the network; 0: as many as the data have. Fewer
 * than the data have is WL_EINVAL. */
int wl_image_source_open(struct wl_image_source *s, const char *dir, bool train, int64_t classes, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* Keeps `samples` of them, evenly spaced, so that sorted classes keep their proportions; 0: all. */
int wl_image_source_limit(struct wl_image_source *s, int64_t samples, struct wl_err *e) WL_MUST_CHECK;

/* Reads sample i. Any thread, each with its own `out`. */
int wl_image_source_read(const struct wl_image_source *s, int64_t i, struct wl_encoded_image *out,
                         struct wl_err *e) WL_MUST_CHECK;

#endif
