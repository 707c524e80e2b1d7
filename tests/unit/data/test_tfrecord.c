/* TFRecord shards: the format against a file that another program wrote, the same batches as from folders, and what is
 * said about damage. */
#include "base/base.h"
#include "data/images/shards.h"
#include "data/images/source.h"
#include "data/tfrecord/example.h"
#include "data/tfrecord/tfrecord.h"
#include "temp_dir.h"

#include <sys/stat.h>

enum { S = 16, PIXELS = 3 * S * S };

/* ---- tools ------------------------------------------------------------------------------------------------------ */

static struct image_loader_opts options(const char *dir, bool train) { return image_loader_options(dir, train, S); }

static struct image_loader *open_images(const struct temp_dir *p, const struct image_loader_opts *o)
{
    struct image_loader *l = wl_new(p->arena, struct image_loader);
    struct wl_err e = { 0 };
    if (image_loader_open(l, o, p->arena, &e) != 0) fail_msg("%s", e.msg);
    return l;
}

static void has(const struct wl_err *e, const char *cause)
{
    if (!strstr(e->msg, cause)) fail_msg("'%s' lacks '%s'", e->msg, cause);
}

/* The loader does not open, with a message. */
static void refuse(const struct temp_dir *p, const struct image_loader_opts *o, const char *cause)
{
    struct image_loader l;
    struct wl_err e = { 0 };
    assert_true(image_loader_open(&l, o, p->arena, &e) < 0);
    has(&e, cause);
}

/* The loader opens, and an epoch ends with an error. */
static void fails(const struct temp_dir *p, const struct image_loader_opts *o, const char *cause, const char *cause2)
{
    static uint8_t x[4 * PIXELS];
    struct image_loader *l = open_images(p, o);
    struct wl_err e = { 0 };
    int32_t y[4];
    int64_t n;
    int rc;
    assert_int_equal(wl_loader_start_epoch(l->feed, 1, 0, &e), 0);
    while ((rc = image_loader_next(l, x, y, &n, &e)) > 0) continue;
    assert_int_equal(rc, WL_EINVAL);
    has(&e, cause);
    has(&e, cause2);
}

/* A set with one shard of these examples' bytes. */
static void write_shard(const struct temp_dir *p, const char *name, const struct wl_byte_buffer *examples, size_t n)
{
    struct wl_err e = { 0 };
    assert_int_equal(wl_mkdirs(p->dir, &e), 0);
    FILE *f = fopen(temp_dir_path(p, name), "wb");
    assert_non_null(f);
    for (size_t i = 0; i < n; i++) assert_int_equal(wl_tfrecord_write(f, name, examples[i].p, examples[i].n, &e), 0);
    assert_int_equal(fclose(f), 0);
}

/* ---- the format -------------------------------------------------------------------------------------------------- */

static void copy_fixture(const struct temp_dir *p, const char *name)
{
    struct wl_err e = { 0 };
    char *bytes;
    size_t n;
    assert_int_equal(wl_file_read(wl_path_join(p->arena, getenv("WL_FIXTURES"), name), 1 << 20, &bytes, &n, p->arena,
                                  &e),
                     0);
    assert_int_equal(wl_mkdirs(p->dir, &e), 0);
    assert_int_equal(wl_file_write(temp_dir_path(p, name), bytes, n, &e), 0);
}

/* A shard of Google's protocol buffers and another CRC (tests/fixtures/data/make_tfrecord.py) is read. */
static void shard_of_another_program_is_read(void **state)
{
    struct temp_dir *p = *state;
    struct wl_arena *a = p->arena;
    struct wl_image_source s;
    struct wl_encoded_image *sample = wl_new(a, struct wl_encoded_image);
    struct wl_err e = { 0 };
    char *jpeg;
    size_t n;
    copy_fixture(p, "train-00000-of-00001"); /* opening it leaves an index beside it */
    assert_int_equal(wl_image_shards_open(&s, p->dir, "train", a, &e), 0);
    assert_int_equal(wl_file_read(wl_path_join(a, getenv("WL_FIXTURES"), "grey.JPEG"), 1 << 20, &jpeg, &n, a, &e), 0);
    s.classes = 1000;
    s.check_crc = true;
    assert_int_equal(s.n, 2);
    for (int64_t i = 0; i < 2; i++) {
        if (wl_image_source_read(&s, i, sample, &e) != 0) fail_msg("%s", e.msg);
        assert_int_equal(sample->class_index, i == 0 ? 0 : 999);
        assert_int_equal(sample->jpeg_n, n);
        assert_memory_equal(sample->jpeg, jpeg, n);
    }
    assert_non_null(strstr(sample->name, "train-00000-of-00001: record 2 at byte "));
    assert_non_null(strstr(sample->name, "(n15075141_54.JPEG)"));
    free(sample->bytes.p);
}

static void example_round_trip(void **state)
{
    const struct wl_tf_feature features[] = {
        { "image/class/label", WL_TF_FEATURE_INT64, .value = -3 },
        { "other", WL_TF_FEATURE_BYTES, .bytes = "xyz", .n = 3 },
        { "image/encoded", WL_TF_FEATURE_BYTES, .bytes = "\xff\xd8", .n = 2 },
    };
    /* unpacked values, the last of which counts, and an unknown field of each wire type */
    static const uint8_t by_hand[] = { 0x0a, 0x1d, 0x0a, 0x1b, 0x0a, 0x11, 'i',  'm',  'a', 'g', 'e', '/',
                                       'c',  'l',  'a',  's',  's',  '/',  'l',  'a',  'b', 'e', 'l', 0x12,
                                       0x06, 0x1a, 0x04, 0x08, 0x07, 0x08, 0x2a, 0x25, 0,   0,   0,   0 };
    struct wl_byte_buffer buf = { 0 };
    struct wl_tf_example x;
    struct wl_err e = { 0 };
    (void)state;
    assert_int_equal(wl_tf_example_write(&buf, features, WL_COUNT(features), &e), 0);
    assert_int_equal(wl_tf_example_parse(&x, buf.p, buf.n, &e), 0);
    assert_true(x.has_label && x.label == -3);
    assert_int_equal(x.encoded_n, 2);
    assert_memory_equal(x.encoded, "\xff\xd8", 2);
    assert_null(x.filename);
    for (size_t n = 1; n < buf.n; n++) { /* every cut is noticed, but for nothing at all */
        assert_int_equal(wl_tf_example_parse(&x, buf.p, n, &e), WL_EINVAL);
        has(&e, "is not valid in a protocol buffer");
    }
    assert_int_equal(wl_tf_example_parse(&x, by_hand, sizeof by_hand, &e), 0);
    assert_true(x.has_label && x.label == 42);
    free(buf.p);
}

/* ---- the same data as folders ------------------------------------------------------------------------------------ */

/* Every batch of some epochs of a part. */
static void read_all(const struct temp_dir *p, const struct image_loader_opts *o, struct wl_text *to)
{
    struct image_loader *l = open_images(p, o);
    uint8_t *x = malloc(4 * PIXELS * sizeof *x);
    int32_t y[4];
    int64_t n;
    struct wl_err e = { 0 };
    int rc = 0;
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        assert_int_equal(wl_loader_start_epoch(l->feed, epoch, 0, &e), 0);
        while ((rc = image_loader_next(l, x, y, &n, &e)) > 0) {
            wl_text_addn(to, (const char *)x, (size_t)n * PIXELS * sizeof *x);
            wl_text_addn(to, (const char *)y, (size_t)n * sizeof *y);
        }
        if (rc < 0) fail_msg("%s", e.msg);
    }
    free(x);
}

/* The same bits with any number of shards, for one rank and for one of two, and with a limit. */
static void shards_give_the_batches_of_folders(void **state)
{
    struct temp_dir *p = *state;
    temp_dir_write_images(p);
    for (int64_t shards = 1; shards <= 20; shards += 6) {
        const char *dir = wl_strf(p->arena, "%s/shards%lld", p->root, (long long)shards);
        temp_dir_write_shards(p, dir, shards);
        for (int variant = 0; variant < 4; variant++) {
            struct image_loader_opts folders = options(p->dir, variant != 1);
            folders.feed.ranks = variant == 2 ? 2 : 1;
            folders.feed.rank = variant == 2;
            folders.set.samples = variant == 3 ? 9 : 0;
            struct image_loader_opts records = folders;
            records.set.dir = dir;
            struct wl_text one = WL_TEXT(p->arena), two = WL_TEXT(p->arena);
            read_all(p, &folders, &one);
            read_all(p, &records, &two);
            assert_true(one.n > 0);
            assert_int_equal(one.n, two.n);
            assert_memory_equal(one.s, two.s, one.n);
        }
    }
}

/* The names of the classes. */
static struct wl_strs labels(const struct temp_dir *p)
{
    struct wl_image_source source = { 0 };
    struct wl_err e;
    assert_int_equal(wl_image_source_open(&source, p->dir, false, 0, p->arena, &e), 0);
    return source.labels;
}

/* Shards in train/ and validation/, as written by the script for cloud storage; class names of labels.txt. */
static void both_layouts_and_labels_are_read(void **state)
{
    struct temp_dir *p = *state;
    struct wl_err e;
    temp_dir_write_shards(p, p->dir, 2);
    struct image_loader_opts o = options(p->dir, false);
    o.set.classes = 3;
    assert_int_equal(wl_mkdirs(temp_dir_path(p, "validation"), &e), 0);
    assert_int_equal(rename(temp_dir_path(p, "validation-00000-of-00001"),
                            temp_dir_path(p, "validation/validation-00000-of-00001")),
                     0);
    struct image_loader *l = open_images(p, &o);
    assert_int_equal(wl_images_dataset(l->images)->samples, 7);
    assert_string_equal(wl_images_format(l->images), "TFRecord shards");
    assert_string_equal(labels(p).v[2], "class0002");
    o.set.classes = 2;
    refuse(p, &o, "labels.txt: 3 class names, but the network has 2 classes");
    o.set.classes = 4;
    assert_int_equal(wl_images_classes(open_images(p, &o)->images), 4);
    assert_int_equal(wl_file_write(temp_dir_path(p, "labels.txt"), "0:cat\r\n1:dog\n", 13, &e), 0);
    o.set.classes = 0;
    l = open_images(p, &o);
    assert_int_equal(wl_images_classes(l->images), 2);
    assert_string_equal(labels(p).v[0], "cat");
    assert_string_equal(labels(p).v[1], "dog");
    assert_int_equal(unlink(temp_dir_path(p, "labels.txt")), 0);
    refuse(p, &o, "the number of classes is not in TFRecord shards: give --classes");
    o.set.classes = 5;
    assert_int_equal(wl_images_classes(open_images(p, &o)->images), 5);
}

/* ---- damage ---------------------------------------------------------------------------------------------------- */

static void missing_shards_are_named(void **state)
{
    struct temp_dir *p = *state;
    struct wl_err e;
    temp_dir_write_shards(p, p->dir, 9);
    struct image_loader_opts o = options(p->dir, true), val = options(p->dir, false);
    assert_int_equal(unlink(temp_dir_path(p, "train-00003-of-00009")), 0);
    refuse(p, &o, "1 of 9 shards are missing: train-00003-of-00009");
    for (int i = 0; i < 9; i++)
        if (i != 1) (void)unlink(temp_dir_path(p, wl_strf(p->arena, "train-0000%d-of-00009", i)));
    refuse(p, &o,
           "8 of 9 shards are missing: train-00000-of-00009, train-00002-of-00009, train-00003-of-00009, "
           "train-00004-of-00009, train-00005-of-00009 and 3 more");
    assert_int_equal(wl_file_write(temp_dir_path(p, "train-00000-of-00002"), "", 0, &e), 0);
    refuse(p, &o, "train-00000-of-00002 and train-00001-of-00009 belong to different sets");
    assert_int_equal(unlink(temp_dir_path(p, "train-00000-of-00002")), 0);
    assert_int_equal(unlink(temp_dir_path(p, "train-00001-of-00009")), 0);
    refuse(p, &o, "but not of the training set; expected train-00000-of-<N>");
    assert_int_equal(unlink(temp_dir_path(p, "validation-00000-of-00001")), 0);
    refuse(p, &val, "no folder 'train'");
}

/* Found by the scan of the headers. */
static void damaged_headers_are_refused(void **state)
{
    struct temp_dir *p = *state;
    struct wl_err e;
    struct stat st;
    temp_dir_write_shards(p, p->dir, 2);
    const char *path = temp_dir_path(p, "train-00001-of-00002");
    struct image_loader_opts o = options(p->dir, true);
    struct wl_tfrecord_file r = { .path = path };
    assert_int_equal(wl_tfrecord_scan(&r, p->arena, &e), 0);
    assert_int_equal(r.n, 10);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(r.offset[10], st.st_size);

    temp_dir_poke_byte(path, (long)r.offset[2], 0xee);
    refuse(p, &o,
           wl_strf(p->arena, "train-00001-of-00002: record 3 at byte %llu: checksum of the length 0x",
                   (unsigned long long)r.offset[2]));
    assert_int_equal(truncate(path, (off_t)r.offset[2] - 1), 0);
    refuse(p, &o,
           wl_strf(p->arena, "truncated: record 2 at byte %llu has a length of %llu bytes, but only %llu are left",
                   (unsigned long long)r.offset[1], (unsigned long long)(r.offset[2] - r.offset[1] - 16),
                   (unsigned long long)(r.offset[2] - r.offset[1] - 17)));
    assert_int_equal(truncate(path, (off_t)r.offset[1] + 5), 0);
    refuse(p, &o,
           wl_strf(p->arena, "truncated: record 2 at byte %llu has 5 bytes left, expected at least 16",
                   (unsigned long long)r.offset[1]));
    assert_int_equal(truncate(path, 0), 0);
    refuse(p, &o, "train-00001-of-00002: no records: the file is empty");
    assert_int_equal(wl_file_write(path, "this is a text, and a long one", 30, &e), 0);
    refuse(p, &o, "train-00001-of-00002: not a TFRecord file (checksum of the first length 0x");
    temp_dir_poke_byte(temp_dir_path(p, "train-00000-of-00002"), 0, 0xee); /* the first shard's error is reported */
    for (int i = 0; i < 5; i++) refuse(p, &o, "train-00000-of-00002: not a TFRecord file");
}

/* An impossible length with the right checksum. */
static void absurd_length_is_refused(void **state)
{
    struct temp_dir *p = *state;
    static const uint8_t head[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
    uint8_t record[40] = { 0 };
    struct wl_err e;
    uint32_t crc = wl_crc32c(0, head, 8);
    memcpy(record, head, 8);
    wl_le_write(record + 8, 4, (crc >> 15 | crc << 17) + 0xa282ead8u);
    assert_int_equal(wl_mkdirs(p->dir, &e), 0);
    assert_int_equal(wl_file_write(temp_dir_path(p, "train-00000-of-00001"), (const char *)record, sizeof record, &e),
                     0);
    struct image_loader_opts o = options(p->dir, true);
    refuse(p, &o,
           "train-00000-of-00001: truncated: record 1 at byte 0 has a length of 18446744073709551615 bytes, but "
           "only 24 are left");
}

/* A flipped bit of an image is an error with checksums; without them the image is decoded. */
static void damaged_data_are_an_error_with_checksums(void **state)
{
    struct temp_dir *p = *state;
    struct wl_err e;
    temp_dir_write_shards(p, p->dir, 2);
    const char *path = temp_dir_path(p, "train-00001-of-00002");
    struct wl_tfrecord_file r = { .path = path };
    assert_int_equal(wl_tfrecord_scan(&r, p->arena, &e), 0);
    temp_dir_poke_byte(path, (long)r.offset[5] - 5, 0x55); /* the end of the image in record 5 */
    struct image_loader_opts o = options(p->dir, true);
    fails(p, &o,
          wl_strf(p->arena, "train-00001-of-00002: record 5 at byte %llu: checksum of the ",
                  (unsigned long long)r.offset[4]),
          "expected 0x");
    o.feed.skip_bad = true;
    wl_log_init(WL_ERROR, -1);
    struct image_loader *l = open_images(p, &o);
    static uint8_t x[4 * PIXELS];
    int32_t y[4];
    int64_t n, total = 0;
    assert_int_equal(wl_loader_start_epoch(l->feed, 1, 0, &e), 0);
    while (image_loader_next(l, x, y, &n, &e) > 0) total += n;
    assert_int_equal(total, 20);
    assert_int_equal(wl_loader_bad_samples(l->feed), 1);
    o.feed.skip_bad = false;
    o.set.skip_crc = true;
    fails(p, &o, "record 5 at byte", "train_"); /* libjpeg notices the missing end marker, with the image's name */
}

/* Complete records without an image or a label. */
static void wrong_examples_are_refused(void **state)
{
    struct temp_dir *p = *state;
    struct wl_byte_buffer x[5] = { 0 };
    struct wl_tf_feature label = { "image/class/label", WL_TF_FEATURE_INT64, .value = 3 };
    struct wl_tf_feature picture = { "image/encoded", WL_TF_FEATURE_BYTES, .bytes = "\xff\xd8", .n = 2 },
                         pair[] = { label, picture };
    const struct {
        struct wl_tf_feature *features;
        size_t n;
        int64_t value;
        const char *cause;
    } cases[] = {
        { &label, 1, 3, "record 1 at byte 0: no bytes feature image/encoded" },
        { &picture, 1, 3, "record 1 at byte 0: no int64 feature image/class/label" },
        { pair, 2, 4, "label 4, expected 1 to 3" },
        { pair, 2, 0, "label 0, expected 1 to 3" },
        { pair, 2, 3, "record 1 at byte 0: " }, /* libjpeg's words: a JPEG of two bytes */
    };
    struct image_loader_opts o = options(p->dir, true);
    struct wl_err e;
    o.set.classes = 3;
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        pair[0].value = cases[i].value;
        assert_int_equal(wl_tf_example_write(&x[i], cases[i].features, cases[i].n, &e), 0);
        write_shard(p, "train-00000-of-00001", &x[i], 1);
        fails(p, &o, "train-00000-of-00001", cases[i].cause);
    }
    struct wl_byte_buffer text = { (uint8_t *)"no message", 10, 10 };
    write_shard(p, "train-00000-of-00001", &text, 1);
    fails(p, &o, "train-00000-of-00001: record 1 at byte 0", "not a tf.train.Example: byte 0 of 10");
    for (size_t i = 0; i < WL_COUNT(cases); i++) free(x[i].p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shard_of_another_program_is_read, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test(example_round_trip),
        cmocka_unit_test_setup_teardown(shards_give_the_batches_of_folders, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(both_layouts_and_labels_are_read, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(missing_shards_are_named, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(damaged_headers_are_refused, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(absurd_length_is_refused, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(damaged_data_are_an_error_with_checksums, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(wrong_examples_are_refused, temp_dir_setup, temp_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
