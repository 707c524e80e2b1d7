/* The layout of TensorFlow's script for ImageNet: PREFIX-00000-of-01024 ..., records of tf.train.Example with
 * image/encoded, image/class/label (from 1; 0 is a background class without images) and image/filename. */
#include "data/images/shards.h"

#include "data/tfrecord/example.h"
#include "data/tfrecord/index.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHARDS = 100000 /* five digits */ };

struct shards {
    struct wl_tfrecord_file *v; /* [n] */
    int64_t *first;             /* [n+1] index of each shard's first record among all */
    int64_t n;
};

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* Parses `text` and a number of at least five digits at *p; -1: no match. */
static int64_t number_after(const char **p, const char *text)
{
    size_t n = strlen(text), digits;
    if (strncmp(*p, text, n) != 0) return -1;
    *p += n;
    for (digits = 0; isdigit((unsigned char)(*p)[digits]); digits++) continue;
    if (digits < 5 || digits > 9) return -1;
    int64_t value = strtoll(*p, NULL, 10);
    *p += digits;
    return value;
}

/* PREFIX-00003-of-00008: 3 and 8. */
static bool is_shard(const char *name, const char *prefix, int64_t *index, int64_t *count)
{
    size_t n = strlen(prefix);
    if (strncmp(name, prefix, n) != 0) return false;
    name += n;
    *index = number_after(&name, "-");
    *count = number_after(&name, "-of-");
    return *index >= 0 && *count > 0 && *name == '\0';
}

bool wl_image_shards_exist(const char *dir, const char *prefix, struct wl_arena *a)
{
    struct wl_arena *tmp = wl_arena_new(a);
    struct wl_strs names;
    int64_t index, count;
    bool found = false;
    if (wl_is_dir(dir) && wl_dir_list(dir, &names, tmp, NULL) == 0)
        for (size_t i = 0; i < names.n && !found; i++) found = is_shard(names.v[i], prefix, &index, &count);
    wl_arena_free(tmp);
    return found;
}

/* ---- the list --------------------------------------------------------------------------------------------------- */

/* Names the first few missing shards. */
static int missing(const struct shards *s, const char *dir, const char *prefix, int64_t found, struct wl_arena *a,
                   struct wl_err *e)
{
    enum { SHOWN = 5 };
    struct wl_text names = WL_TEXT(a);
    int64_t lacks = s->n - found, shown = 0;
    for (int64_t i = 0; i < s->n && shown < SHOWN; i++)
        if (!s->v[i].path)
            wl_text_addf(&names, "%s%s-%05lld-of-%05lld", shown++ ? ", " : "", prefix, (long long)i, (long long)s->n);
    if (lacks > shown) wl_text_addf(&names, " and %lld more", (long long)(lacks - shown));
    return wl_fail(e, WL_ENOENT, "%s: %lld of %lld shards are missing: %s", dir, (long long)lacks, (long long)s->n,
                   names.s);
}

static int list_shards(struct shards *s, const char *dir, const char *prefix, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs names;
    const char *before = NULL;
    int64_t found = 0;
    int rc = wl_dir_list(dir, &names, a, e);
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        int64_t index, count;
        if (!is_shard(names.v[i], prefix, &index, &count)) continue;
        if (count > MAX_SHARDS || index >= count)
            return wl_fail(e, WL_EINVAL, "%s/%s: expected a shard number from 0 to %lld, and at most %d shards", dir,
                           names.v[i], (long long)count - 1, MAX_SHARDS);
        if (before && count != s->n)
            return wl_fail(e, WL_EINVAL, "%s: %s and %s belong to different sets of shards", dir, before, names.v[i]);
        if (!before) {
            s->n = count;
            s->v = wl_new_array(a, struct wl_tfrecord_file, (size_t)count);
        }
        before = names.v[i];
        found += s->v[index].path == NULL;
        s->v[index].path = wl_path_join(a, dir, names.v[i]);
    }
    if (rc != 0) return rc;
    return found == s->n ? 0 : missing(s, dir, prefix, found, a, e);
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static const struct wl_tfrecord_file *shard_of(const struct shards *s, int64_t i, int64_t *record)
{
    int64_t low = 0, high = s->n;
    while (high - low > 1) {
        int64_t mid = (low + high) / 2;
        if (s->first[mid] <= i)
            low = mid;
        else
            high = mid;
    }
    *record = i - s->first[low];
    return &s->v[low];
}

/* Takes the image of an example. */
static int use_example(const struct wl_image_source *source, const struct wl_tf_example *example,
                       struct wl_encoded_image *out, struct wl_err *e)
{
    if (!example->encoded) return wl_fail(e, WL_EINVAL, "%s: no bytes feature image/encoded", out->name);
    if (!example->has_label) return wl_fail(e, WL_EINVAL, "%s: no int64 feature image/class/label", out->name);
    if (example->label < 1 || example->label > source->classes)
        return wl_fail(e, WL_EINVAL, "%s: label %lld, expected 1 to %lld (the number of classes)", out->name,
                       (long long)example->label, (long long)source->classes);
    out->jpeg = example->encoded;
    out->jpeg_n = example->encoded_n;
    out->class_index = (int32_t)(example->label - 1);
    return 0;
}

static int read_record(const struct wl_image_source *source, int64_t i, struct wl_encoded_image *out, struct wl_err *e)
{
    int64_t record;
    const uint8_t *data;
    size_t n;
    const struct wl_tfrecord_file *r = shard_of(source->data, i, &record);
    struct wl_tf_example example;
    int rc = wl_tfrecord_read(r, record, source->check_crc, &out->bytes, &data, &n, e);
    if (rc != 0) return rc;
    rc = wl_tf_example_parse(&example, data, n, e);
    snprintf(out->name, sizeof out->name, "%s: record %lld at byte %llu%s%.*s%s", r->path, (long long)record + 1,
             (unsigned long long)r->offset[record], example.filename_n ? " (" : "",
             (int)(example.filename_n < 255 ? example.filename_n : 255), example.filename_n ? example.filename : "",
             example.filename_n ? ")" : "");
    return rc == 0 ? use_example(source, &example, out, e) : wl_err_prefix(e, "%s", out->name);
}

int wl_image_shards_open(struct wl_image_source *s, const char *dir, const char *prefix, struct wl_arena *a,
                         struct wl_err *e)
{
    static const struct wl_image_source_ops ops = { .name = "TFRecord shards", .read = read_record };
    struct shards *shards = wl_new(a, struct shards);
    int rc = list_shards(shards, dir, prefix, a, e);
    if (rc == 0) rc = wl_tfrecord_index_open(shards->v, shards->n, dir, prefix, a, e);
    if (rc != 0) return rc;
    shards->first = wl_new_array(a, int64_t, (size_t)shards->n + 1);
    for (int64_t i = 0; i < shards->n; i++) shards->first[i + 1] = shards->first[i] + shards->v[i].n;
    *s = (struct wl_image_source) {
        .ops = &ops, .data = shards, .n = shards->first[shards->n], .total = shards->first[shards->n]
    };
    s->dir = wl_strf(a, "%s/%s-*-of-%05lld", dir, prefix, (long long)shards->n);
    return 0;
}
