/* tf.train.Example, the features that images need. */
#ifndef WL_DATA_TFRECORD_EXAMPLE_H
#define WL_DATA_TFRECORD_EXAMPLE_H

#include "data/byte_buffer.h"

/* Missing: NULL, or false. Pointers lead into the bytes that were parsed. */
struct wl_tf_example {
    const uint8_t *encoded; /* image/encoded */
    size_t encoded_n;
    const char *filename; /* image/filename, not terminated */
    size_t filename_n;
    int64_t label; /* image/class/label */
    bool has_label;
};

/* WL_EINVAL names the byte from which on the bytes are malformed. Other features are ignored. */
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

#endif
