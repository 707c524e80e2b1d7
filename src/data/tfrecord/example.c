/* tf.train.Example, a protocol buffer (tensorflow/core/example/example.proto, feature.proto):
 *   Example { Features features = 1; }          Features { map<string, Feature> feature = 1; }
 *   Feature { BytesList = 1 | FloatList = 2 | Int64List = 3 }      lists { repeated ... value = 1; }
 * A map is a repeated message { key = 1; value = 2; }. Integers are varints; lists of them may be packed. */
#include "data/tfrecord/example.h"

#include <string.h>

static bool is_message(const struct wl_proto_field *f, uint64_t number)
{
    return f->number == number && f->wire == WL_WIRE_BYTES;
}

/* ---- the messages: of several values the last one counts, as in protocol buffers -------------------------------- */

/* *bad: the first malformed byte. */
static bool parse_bytes_list(struct wl_byte_span s, struct wl_byte_span *value, const uint8_t **bad)
{
    for (struct wl_proto_field f; *bad = s.p, s.p < s.end;) {
        if (!wl_proto_next(&s, &f)) return false;
        if (is_message(&f, 1)) *value = f.bytes;
    }
    return true;
}

static bool parse_int64_list(struct wl_byte_span s, uint64_t *value, bool *found, const uint8_t **bad)
{
    for (struct wl_proto_field f; *bad = s.p, s.p < s.end;) {
        if (!wl_proto_next(&s, &f)) return false;
        if (f.number != 1) continue;
        if (f.wire == WL_WIRE_VARINT) *value = f.value;
        if (f.wire == WL_WIRE_BYTES)
            while (f.bytes.p < f.bytes.end)
                if (!wl_varint_read(&f.bytes, value)) return false;
        *found = true;
    }
    return true;
}

static bool is_key(struct wl_byte_span key, const char *name)
{
    size_t n = strlen(name);
    return (size_t)(key.end - key.p) == n && memcmp(key.p, name, n) == 0;
}

static bool parse_feature(struct wl_tf_example *out, struct wl_byte_span key, struct wl_byte_span s,
                          const uint8_t **bad)
{
    for (struct wl_proto_field f; *bad = s.p, s.p < s.end;) {
        struct wl_byte_span value = { NULL, NULL };
        uint64_t number = 0;
        if (!wl_proto_next(&s, &f)) return false;
        if (is_message(&f, WL_TF_FEATURE_INT64) && is_key(key, "image/class/label")) {
            if (!parse_int64_list(f.bytes, &number, &out->has_label, bad)) return false;
            out->label = (int64_t)number;
        } else if (is_message(&f, WL_TF_FEATURE_BYTES) && is_key(key, "image/encoded")) {
            if (!parse_bytes_list(f.bytes, &value, bad)) return false;
            out->encoded = value.p;
            out->encoded_n = (size_t)(value.end - value.p);
        } else if (is_message(&f, WL_TF_FEATURE_BYTES) && is_key(key, "image/filename")) {
            if (!parse_bytes_list(f.bytes, &value, bad)) return false;
            out->filename = (const char *)value.p;
            out->filename_n = (size_t)(value.end - value.p);
        }
    }
    return true;
}

static bool parse_entry(struct wl_tf_example *out, struct wl_byte_span s, const uint8_t **bad)
{
    struct wl_byte_span key = { NULL, NULL }, feature = { NULL, NULL };
    for (struct wl_proto_field f; *bad = s.p, s.p < s.end;) {
        if (!wl_proto_next(&s, &f)) return false;
        if (is_message(&f, 1)) key = f.bytes;
        if (is_message(&f, 2)) feature = f.bytes;
    }
    return !key.p || !feature.p || parse_feature(out, key, feature, bad);
}

static bool parse_features(struct wl_tf_example *out, struct wl_byte_span s, const uint8_t **bad)
{
    for (struct wl_proto_field f; *bad = s.p, s.p < s.end;)
        if (!wl_proto_next(&s, &f) || (is_message(&f, 1) && !parse_entry(out, f.bytes, bad))) return false;
    return true;
}

static bool parse_example(struct wl_tf_example *out, struct wl_byte_span s, const uint8_t **bad)
{
    for (struct wl_proto_field f; *bad = s.p, s.p < s.end;)
        if (!wl_proto_next(&s, &f) || (is_message(&f, 1) && !parse_features(out, f.bytes, bad))) return false;
    return true;
}

int wl_tf_example_parse(struct wl_tf_example *out, const uint8_t *data, size_t n, struct wl_err *e)
{
    const uint8_t *bad = data;
    *out = (struct wl_tf_example) { 0 };
    if (parse_example(out, (struct wl_byte_span) { data, data + n }, &bad)) return 0;
    return wl_fail(e, WL_EINVAL, "not a tf.train.Example: byte %td of %zu is not valid in a protocol buffer",
                   bad - data, n);
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static size_t field_size(size_t n) { return 1 + wl_varint_size(n) + n; } /* tag, length, bytes */

static uint8_t *put_head(uint8_t *p, unsigned number, size_t n) /* of a field of n bytes */
{
    *p++ = (uint8_t)(number << 3 | WL_WIRE_BYTES);
    return wl_varint_put(p, n);
}

static uint8_t *put_bytes(uint8_t *p, unsigned number, const void *bytes, size_t n)
{
    p = put_head(p, number, n);
    memcpy(p, bytes, n);
    return p + n;
}

/* A list of one value: bytes, or a packed varint. */
static size_t value_size(const struct wl_tf_feature *f)
{
    return f->kind == WL_TF_FEATURE_BYTES ? f->n : wl_varint_size((uint64_t)f->value);
}

static size_t entry_size(const struct wl_tf_feature *f)
{
    return field_size(strlen(f->key)) + field_size(field_size(field_size(value_size(f))));
}

static uint8_t *put_entry(uint8_t *p, const struct wl_tf_feature *f)
{
    size_t list = field_size(value_size(f));
    p = put_head(p, 1, entry_size(f));
    p = put_bytes(p, 1, f->key, strlen(f->key));
    p = put_head(p, 2, field_size(list));
    p = put_head(p, f->kind, list);
    if (f->kind == WL_TF_FEATURE_BYTES) return put_bytes(p, 1, f->bytes, f->n);
    return wl_varint_put(put_head(p, 1, value_size(f)), (uint64_t)f->value);
}

int wl_tf_example_write(struct wl_byte_buffer *buf, const struct wl_tf_feature *features, size_t count,
                        struct wl_err *e)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) n += field_size(entry_size(&features[i]));
    int rc = wl_byte_buffer_reserve(buf, field_size(n), "an example", e);
    if (rc != 0) return rc;
    uint8_t *p = put_head(buf->p, 1, n);
    for (size_t i = 0; i < count; i++) p = put_entry(p, &features[i]);
    buf->n = (size_t)(p - buf->p);
    return 0;
}
