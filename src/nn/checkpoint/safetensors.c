/* Reading safetensors: 8 bytes with the length of the header, the header (JSON), the data.
 * https://huggingface.co/docs/safetensors */
#include "nn/checkpoint/safetensors.h"

#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors are little-endian: this machine needs a conversion here"
#endif

enum { LENGTH = 8, MOST_HEADER = 100000000 /* the reference's limit */ };

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static void read_f32(const uint8_t *from, size_t n, float *to) { memcpy(to, from, n * sizeof *to); }

static void read_bf16(const uint8_t *from, size_t n, float *to)
{
    for (size_t i = 0; i < n; i++) to[i] = wl_bf16_to_f32((uint16_t)(from[2 * i] | from[2 * i + 1] << 8));
}

static void read_f16(const uint8_t *from, size_t n, float *to)
{
    for (size_t i = 0; i < n; i++) to[i] = wl_f16_to_f32((uint16_t)(from[2 * i] | from[2 * i + 1] << 8));
}

static void read_f64(const uint8_t *from, size_t n, float *to)
{
    for (size_t i = 0; i < n; i++) {
        double d;
        memcpy(&d, from + sizeof d * i, sizeof d);
        to[i] = (float)d;
    }
}

static const struct dtype {
    const char *name;
    size_t bytes;
    void (*read)(const uint8_t *from, size_t n, float *to); /* NULL: no real numbers */
} dtypes[] = {
    { "F32", 4, read_f32 }, { "BF16", 2, read_bf16 }, { "F16", 2, read_f16 }, { "F64", 8, read_f64 },
    { "I64", 8, NULL },     { "I32", 4, NULL },       { "I16", 2, NULL },     { "I8", 1, NULL },
    { "U64", 8, NULL },     { "U32", 4, NULL },       { "U16", 2, NULL },     { "U8", 1, NULL },
    { "BOOL", 1, NULL },    { "F8_E4M3", 1, NULL },   { "F8_E5M2", 1, NULL },
};

static const struct dtype *find_dtype(const char *name)
{
    for (size_t i = 0; i < WL_COUNT(dtypes); i++)
        if (wl_str_eq(dtypes[i].name, name)) return &dtypes[i];
    return NULL;
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

static int bad(const struct wl_safetensors *s, const char *name, const char *why, struct wl_err *e)
{
    return wl_fail(e, WL_EINVAL, "%s: the tensor %s %s", s->path, name, why);
}

/* What a tensor's shape needs; SIZE_MAX: more than there can be. */
static size_t bytes_of(const struct wl_safetensor *t, size_t size)
{
    size_t n = size;
    for (int i = 0; i < t->dims; i++)
        if (__builtin_mul_overflow(n, (size_t)t->dim[i], &n)) return SIZE_MAX;
    return n;
}

static int parse_shape(const struct wl_safetensors *s, struct wl_safetensor *t, const struct wl_json *shape,
                       struct wl_err *e)
{
    if (!shape || wl_json_size(shape) > WL_SAFETENSOR_DIMS)
        return bad(s, t->name, "has no shape, or too many dimensions", e);
    t->dims = (int)wl_json_size(shape);
    for (int i = 0; i < t->dims; i++) {
        t->dim[i] = wl_json_int(wl_json_at(shape, (size_t)i), -1);
        if (t->dim[i] < 0) return bad(s, t->name, "has a dimension that is not a size", e);
    }
    return 0;
}

/* `data`: where offsets count from; `data_bytes`: from there to the end of the file. */
static int parse_tensor(const struct wl_safetensors *s, struct wl_safetensor *t, const struct wl_json *from,
                        const uint8_t *data, size_t data_bytes, struct wl_err *e)
{
    const struct wl_json *offsets = wl_json_get(from, "data_offsets");
    const int64_t begin = wl_json_int(wl_json_at(offsets, 0), -1), end = wl_json_int(wl_json_at(offsets, 1), -1);
    t->dtype = wl_json_str(wl_json_get(from, "dtype"));
    const struct dtype *dtype = find_dtype(t->dtype);
    if (!dtype) return bad(s, t->name, "has no dtype, or one that is not known", e);
    int rc = parse_shape(s, t, wl_json_get(from, "shape"), e);
    if (rc) return rc;
    if (begin < 0 || end < begin || (uint64_t)end > data_bytes) return bad(s, t->name, "lies outside of the file", e);
    if (bytes_of(t, dtype->bytes) != (size_t)(end - begin))
        return bad(s, t->name, "has a shape that its bytes do not fit", e);
    t->count = (size_t)(end - begin) / dtype->bytes;
    t->data = data + begin;
    return 0;
}

static int by_place(const void *x, const void *y)
{
    const struct wl_safetensor *a = x, *b = y;
    if (a->data != b->data) return a->data < b->data ? -1 : 1;
    return (a->count > 0) - (b->count > 0);
}

/* Each byte of the data belongs to one tensor. */
static int check_cover(const struct wl_safetensors *s, const uint8_t *data, size_t data_bytes, struct wl_err *e)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < s->n; i++) {
        const struct wl_safetensor *t = &s->v[i];
        if (t->data != at) return bad(s, t->name, t->data < at ? "overlaps another one" : "has a gap before it", e);
        at += t->count * find_dtype(t->dtype)->bytes;
    }
    return at == data + data_bytes ? 0
                                   : wl_fail(e, WL_EINVAL, "%s: %zu bytes at its end belong to no tensor", s->path,
                                             (size_t)(data + data_bytes - at));
}

static int parse_header(struct wl_safetensors *s, const struct wl_json *head, const uint8_t *data, size_t data_bytes,
                        struct wl_arena *a, struct wl_err *e)
{
    s->v = wl_new_array(a, struct wl_safetensor, wl_json_size(head));
    for (const char *key = NULL; (key = wl_json_key(head, key)) != NULL;) {
        if (wl_str_eq(key, "__metadata__")) continue;
        struct wl_safetensor *t = &s->v[s->n++];
        t->name = key;
        int rc = parse_tensor(s, t, wl_json_get(head, key), data, data_bytes, e);
        if (rc) return rc;
    }
    if (s->n) qsort(s->v, s->n, sizeof *s->v, by_place);
    return check_cover(s, data, data_bytes, e);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

int wl_safetensors_open(struct wl_safetensors *s, const char *path, struct wl_arena *a, struct wl_err *e)
{
    *s = (struct wl_safetensors) { .path = wl_strdup(a, path) };
    struct wl_file_mapping m;
    int rc = wl_file_map(path, "the weights", &m, a, e);
    if (rc) return rc;
    if (m.n < LENGTH + 2) return wl_fail(e, WL_EINVAL, "%s: not a safetensors file (%zu bytes)", path, m.n);
    uint64_t n;
    memcpy(&n, m.p, LENGTH);
    if (n > m.n - LENGTH || n > MOST_HEADER)
        return wl_fail(e, WL_EINVAL, "%s: not a safetensors file (bad header length %llu in a file of %zu bytes)", path,
                       (unsigned long long)n, m.n);
    const char *text = wl_strndup(a, (const char *)m.p + LENGTH, (size_t)n);
    struct wl_json *head;
    rc = wl_json_parse(text, path, &head, a, e);
    if (!rc && *text != '{')
        rc = wl_fail(e, WL_EINVAL, "%s: not a safetensors file (the header is not a JSON object)", path);
    return rc ? rc : parse_header(s, head, m.p + LENGTH + n, m.n - LENGTH - (size_t)n, a, e);
}

int wl_safetensors_read(const struct wl_safetensors *s, const struct wl_safetensor *t, float *to, struct wl_err *e)
{
    const struct dtype *d = find_dtype(t->dtype);
    if (!d->read) return wl_fail(e, WL_EINVAL, "%s: the tensor %s is of %s, not of reals", s->path, t->name, t->dtype);
    d->read(t->data, t->count, to);
    return 0;
}
