/* TensorBoard's event files: TFRecord frames (u64 length, u32 masked CRC-32C of it, data, u32 masked CRC-32C of them)
 * of protocol buffers Event { double wall_time = 1; int64 step = 2; Summary summary = 5; }      Summary { repeated
 * Value value = 1; } Value { string tag = 1; float simple_value = 2; TensorProto tensor = 8; } TensorProto { DataType
 * dtype = 1 (1: float); bytes tensor_content = 4; repeated float float_val = 5; } of which scalars are read. Source:
 * tensorflow/core/util/event.proto, framework/summary.proto and tensor.proto. Epochs are those of the scalar "epoch" at
 * the same step, as Lightning logs it, from 0. */
#include "exchange/import/formats.h"
#include "exchange/import/reader.h"
#include "exchange/import/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 12, FOOT = 4, LONGEST = 1 << 19, MOST_VALUES = 1 << 22, FLOAT = 1 };

struct scalar {
    int64_t step, t_ns;
    const char *tag;
    double value;
};

struct reader {
    struct wl_import *im;
    struct wl_arena *a;
    struct scalar *v;
    size_t n, cap;
    struct wl_strs tags;
    size_t others; /* images, histograms ... */
};

static float float_of(struct wl_byte_span s)
{
    uint32_t bits = (uint32_t)wl_le_read(s.p, 4);
    float v;
    memcpy(&v, &bits, 4);
    return v;
}

static double double_of(struct wl_byte_span s)
{
    uint64_t bits = wl_le_read(s.p, 8);
    double v;
    memcpy(&v, &bits, 8);
    return v;
}

/* ---- messages; false: malformed ---- */

static bool read_tensor(struct wl_byte_span s, double *value)
{
    uint64_t type = 0;
    struct wl_byte_span content = { NULL, NULL };
    for (struct wl_proto_field f; s.p < s.end;) {
        if (!wl_proto_next(&s, &f)) return false;
        if (f.number == 1 && f.wire == WL_WIRE_VARINT) type = f.value;
        if ((f.number == 4 || f.number == 5) && f.wire != WL_WIRE_VARINT && f.bytes.end - f.bytes.p == 4)
            content = f.bytes;
    }
    if (type == FLOAT && content.p) *value = float_of(content);
    return true;
}

static const char *tag_of(struct reader *r, struct wl_byte_span tag)
{
    const size_t n = (size_t)(tag.end - tag.p);
    for (size_t i = 0; i < r->tags.n; i++)
        if (strlen(r->tags.v[i]) == n && memcmp(r->tags.v[i], tag.p, n) == 0) return r->tags.v[i];
    wl_strs_add(r->a, &r->tags, wl_utf8_sanitize(r->a, wl_strndup(r->a, (const char *)tag.p, n)));
    return r->tags.v[r->tags.n - 1];
}

static bool read_value(struct reader *r, struct wl_byte_span s, int64_t step, int64_t t_ns)
{
    struct wl_byte_span tag = { NULL, NULL };
    double value = NAN;
    for (struct wl_proto_field f; s.p < s.end;) {
        if (!wl_proto_next(&s, &f)) return false;
        if (f.number == 1 && f.wire == WL_WIRE_BYTES) tag = f.bytes;
        if (f.number == 2 && f.wire == WL_WIRE_FIXED32) value = float_of(f.bytes);
        if (f.number == 8 && f.wire == WL_WIRE_BYTES && !read_tensor(f.bytes, &value)) return false;
    }
    if (!tag.p || tag.p == tag.end || !isfinite(value)) {
        r->others++;
        return true;
    }
    if (r->n < MOST_VALUES) {
        WL_GROW(r->a, r->v, r->n, r->cap);
        r->v[r->n++] = (struct scalar) { step, t_ns, tag_of(r, tag), value };
    }
    return true;
}

static bool read_summary(struct reader *r, struct wl_byte_span s, int64_t step, int64_t t_ns)
{
    for (struct wl_proto_field f; s.p < s.end;) {
        if (!wl_proto_next(&s, &f)) return false;
        if (f.number == 1 && f.wire == WL_WIRE_BYTES && !read_value(r, f.bytes, step, t_ns)) return false;
    }
    return true;
}

static bool read_event(struct reader *r, struct wl_byte_span s)
{
    struct wl_byte_span summary = { NULL, NULL };
    double wall_s = NAN;
    int64_t step = 0;
    for (struct wl_proto_field f; s.p < s.end;) {
        if (!wl_proto_next(&s, &f)) return false;
        if (f.number == 1 && f.wire == WL_WIRE_FIXED64) wall_s = double_of(f.bytes);
        if (f.number == 2 && f.wire == WL_WIRE_VARINT) step = (int64_t)f.value;
        if (f.number == 5 && f.wire == WL_WIRE_BYTES) summary = f.bytes;
    }
    const int64_t t_ns = wall_s > 0 && wall_s < 4e9 ? llround(wall_s * 1e6) * 1000 : WL_NO_NS;
    return !summary.p || read_summary(r, summary, step, t_ns);
}

/* ---- frames ---- */

/* 1: exactly n bytes, valid until the next call; 0: the file has fewer. */
static int take(struct wl_import *im, size_t n, struct wl_slice *out, struct wl_err *e)
{
    int rc = wl_lines_peek(im->in, n, out, e);
    if (rc < 0) return rc;
    if (out->n < n) return 0;
    im->in->from += n;
    return 1;
}

static int skip(struct wl_import *im, uint64_t n, struct wl_err *e)
{
    struct wl_slice part;
    int rc = 1;
    for (; n && rc == 1; n -= part.n) rc = take(im, n < LONGEST ? (size_t)n : LONGEST, &part, e);
    return rc;
}

static int reject_cut(struct wl_import *im)
{
    wl_import_reject(im, "the file ends inside of a record: cut, or still being written");
    return 0;
}

/* 1: a record was read; 0: the end. A record that is damaged ends the file: what follows cannot be found. */
static int read_record(struct reader *r, struct wl_err *e)
{
    struct wl_import *im = r->im;
    struct wl_slice head, data, end;
    int rc = wl_lines_peek(im->in, 1, &end, e);
    if (rc < 0 || end.n == 0) return rc;
    im->in->line++; /* records, in messages */
    if ((rc = take(im, HEAD, &head, e)) <= 0) return rc < 0 ? rc : reject_cut(im);
    const uint64_t length = wl_le_read((const uint8_t *)head.s, 8);
    if (wl_le_read((const uint8_t *)head.s + 8, 4) != wl_crc32c_masked(head.s, 8)) {
        wl_import_reject(im, "the checksum of the record's length is wrong: damaged, and what follows is not read");
        return 0;
    }
    if (length > LONGEST - FOOT) { /* an image or a graph */
        r->others++;
        rc = length > INT64_MAX ? 0 : skip(im, length + FOOT, e);
        return rc == 0 ? reject_cut(im) : rc;
    }
    if ((rc = take(im, (size_t)length + FOOT, &data, e)) <= 0) return rc < 0 ? rc : reject_cut(im);
    const uint8_t *p = (const uint8_t *)data.s;
    if (wl_le_read(p + length, FOOT) != wl_crc32c_masked(p, (size_t)length))
        wl_import_reject(im, "the checksum of the record is wrong: damaged");
    else if (!read_event(r, (struct wl_byte_span) { p, p + length }))
        wl_import_reject(im, "the record is not an event of TensorBoard");
    return 1;
}

/* ---- epochs ---- */

static int64_t epoch_at(const struct scalar *epochs, size_t n, int64_t step)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (epochs[mid].step < step)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && epochs[lo].step == step ? (int64_t)epochs[lo].value + 1 : 0;
}

static int by_step(const void *x, const void *y)
{
    const struct scalar *a = x, *b = y;
    return (a->step > b->step) - (a->step < b->step);
}

static int add(struct reader *r, struct wl_err *e)
{
    struct scalar *epochs = wl_new_array(r->a, struct scalar, r->n);
    struct wl_training_value *v = wl_new_array(r->a, struct wl_training_value, r->n);
    size_t n = 0, n_epochs = 0;
    for (size_t i = 0; i < r->n; i++)
        if (wl_str_eq(r->v[i].tag, "epoch") && r->v[i].value >= 0 && r->v[i].value < 1e6) epochs[n_epochs++] = r->v[i];
    qsort(epochs, n_epochs, sizeof *epochs, by_step);
    for (size_t i = 0; i < r->n; i++) {
        if (wl_str_eq(r->v[i].tag, "epoch")) continue;
        v[n++] = (struct wl_training_value) { r->v[i].tag, epoch_at(epochs, n_epochs, r->v[i].step), r->v[i].t_ns,
                                              r->v[i].value };
    }
    if (n && n_epochs == 0)
        wl_import_note(r->im, "%s: no scalar \"epoch\": the last value of each metric is that of the run",
                       r->im->in->path);
    return wl_training_add(r->im, &(struct wl_training_log) { v, n }, e);
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct reader r = { .im = im, .a = wl_arena_new(im->a) };
    int rc;
    while ((rc = read_record(&r, e)) > 0) {
    }
    if (rc == 0) rc = add(&r, e);
    if (rc == 0 && r.others)
        wl_import_pass_over(im, "images, histograms, graphs and numbers that are not finite", r.others);
    wl_arena_free(r.a);
    return rc;
}

/* The first record is Event { wall_time, file_version = 3: "brain.Event:2" }. */
static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    const uint8_t *p = (const uint8_t *)h->text;
    (void)a;
    return h->n > HEAD + FOOT && wl_le_read(p + 8, 4) == wl_crc32c_masked(p, 8) &&
           wl_import_head_has(h, "brain.Event:");
}

const struct wl_import_format wl_import_tensorboard = {
    .name = "tensorboard",
    .title = "event file of TensorBoard",
    .looks_for = "TFRecord frames with brain.Event",
    .kind = WL_IMPORT_LOG,
    .binary = true,
    .recognise = recognise,
    .read = read_file,
};
