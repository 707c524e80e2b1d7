#include "temp_dir.h"

#include <stdatomic.h>

enum { S = 16, PIXELS = 3 * S * S };

/* Linked with --wrap: every allocation of our own code passes here (libjpeg-turbo's own do not). */
static atomic_long allocations;
void *__real_malloc(size_t n);
void *__real_realloc(void *p, size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_malloc(size_t n)
{
    allocations++;
    return __real_malloc(n);
}

void *__wrap_realloc(void *p, size_t n)
{
    allocations++;
    return __real_realloc(p, n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    allocations++;
    return __real_calloc(n, size);
}

static struct image_loader_opts options(const struct temp_dir *p, bool train)
{
    return image_loader_options(p->dir, train, S);
}

static struct image_loader *open_images(const struct temp_dir *p, const struct image_loader_opts *o)
{
    struct image_loader *l = wl_new(p->arena, struct image_loader);
    struct wl_err e = { 0 };
    if (image_loader_open(l, o, p->arena, &e) != 0) fail_msg("%s", e.msg);
    return l;
}

static void refuse(const struct temp_dir *p, const struct image_loader_opts *o, const char *cause)
{
    struct image_loader l;
    struct wl_err e = { 0 };
    assert_true(image_loader_open(&l, o, p->arena, &e) < 0);
    if (!strstr(e.msg, cause)) fail_msg("'%s' lacks '%s'", e.msg, cause);
}

/* A number for each image of an epoch, in the order given; returns how many. */
static int64_t digest_epoch(struct image_loader *l, int64_t epoch, int64_t batch, double *digest, int32_t *label)
{
    uint8_t *x = malloc((size_t)batch * PIXELS);
    int32_t *y = malloc((size_t)batch * sizeof *y);
    int64_t n, total = 0;
    struct wl_err e = { 0 };
    int rc;
    assert_int_equal(wl_loader_start_epoch(l->feed, epoch, 0, &e), 0);
    while ((rc = image_loader_next(l, x, y, &n, &e)) > 0)
        for (int64_t i = 0; i < n; i++, total++) {
            digest[total] = 0;
            for (int k = 0; k < PIXELS; k++) digest[total] += x[i * PIXELS + k] * (1 + k % 97);
            label[total] = y[i];
        }
    if (rc < 0) fail_msg("%s", e.msg);
    free(x);
    free(y);
    return total;
}

static void assert_same(const double *a, const double *b, int64_t n)
{
    assert_memory_equal(a, b, (size_t)n * sizeof *a);
}

static int by_value(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

/* The same bits for 0, 1 and 3 threads and any ring; other epochs and seeds differ. */
static void threads_do_not_change_the_batches(void **state)
{
    struct temp_dir *p = *state;
    double first[20], digest[20];
    int32_t label[20], other[20];
    temp_dir_write_images(p);
    for (int64_t threads = 0; threads <= 3; threads++) {
        struct image_loader_opts o = options(p, true);
        o.feed.threads = threads;
        o.feed.ring = 1 + threads;
        struct image_loader *l = open_images(p, &o);
        assert_int_equal(wl_loader_batches(l->feed), 5);
        assert_int_equal(digest_epoch(l, 2, 4, digest, other), 20);
        if (threads == 0) {
            memcpy(first, digest, sizeof first);
            memcpy(label, other, sizeof label);
        }
        assert_same(first, digest, 20);
        assert_memory_equal(label, other, sizeof label);
        assert_int_equal(digest_epoch(l, 3, 4, digest, other), 20);
        assert_memory_not_equal(first, digest, sizeof first);
    }
}

/* The ranks' images together are those of one rank, including crops and flips. */
static void ranks_together_equal_one_rank(void **state)
{
    struct temp_dir *p = *state;
    double one[20], all[20];
    int32_t label[20];
    temp_dir_write_images(p);
    struct image_loader_opts o = options(p, true);
    assert_int_equal(digest_epoch(open_images(p, &o), 1, 4, one, label), 20);
    qsort(one, 20, sizeof *one, by_value);
    for (o.feed.ranks = 2; o.feed.ranks <= 3; o.feed.ranks++) {
        int64_t n = 0;
        for (o.feed.rank = 0; o.feed.rank < o.feed.ranks; o.feed.rank++)
            n += digest_epoch(open_images(p, &o), 1, 4, all + n, label + n);
        assert_int_equal(n, 20);
        qsort(all, 20, sizeof *all, by_value);
        assert_same(one, all, 20);
    }
}

static void validation_is_in_order_without_augmentation(void **state)
{
    struct temp_dir *p = *state;
    double a[7], b[7];
    int32_t label[7];
    temp_dir_write_images(p);
    struct image_loader_opts o = options(p, false);
    struct image_loader *l = open_images(p, &o);
    assert_int_equal(wl_images_dataset(l->images)->samples, 7);
    assert_int_equal(wl_images_classes(l->images), 3);
    assert_int_equal(digest_epoch(l, 1, 4, a, label), 7);
    for (int i = 0; i < 7; i++) assert_int_equal(label[i], i < 3 ? 0 : i < 5 ? 1 : 2);
    assert_int_equal(digest_epoch(l, 9, 4, b, label), 7);
    assert_same(a, b, 7);
}

/* A part of the epoch stays unread; the next epoch is complete. */
static void abandoned_epoch_does_not_disturb_the_next(void **state)
{
    struct temp_dir *p = *state;
    uint8_t x[4 * PIXELS];
    int32_t y[4], label[20];
    double a[20], b[20];
    int64_t n;
    struct wl_err e;
    temp_dir_write_images(p);
    struct image_loader_opts o = options(p, true);
    struct image_loader *l = open_images(p, &o);
    assert_int_equal(image_loader_next(l, x, y, &n, &e), 0); /* no epoch yet */
    digest_epoch(l, 4, 4, a, label);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(wl_loader_start_epoch(l->feed, i, 0, &e), 0);
        assert_int_equal(image_loader_next(l, x, y, &n, &e), 1);
    }
    assert_int_equal(digest_epoch(l, 4, 4, b, label), 20);
    assert_same(a, b, 20);
}

/* A limit keeps the proportions of the classes; too high a limit is refused. */
static void limit_keeps_class_proportions(void **state)
{
    struct temp_dir *p = *state;
    double digest[20];
    int32_t label[20];
    int of_class[3] = { 0 };
    temp_dir_write_images(p);
    struct image_loader_opts o = options(p, true);
    o.set.samples = 9;
    assert_int_equal(digest_epoch(open_images(p, &o), 1, 4, digest, label), 9);
    for (int i = 0; i < 9; i++) of_class[label[i]]++;
    for (int k = 0; k < 3; k++) assert_int_equal(of_class[k], 3);
    o.set.samples = 21;
    refuse(p, &o, "21 samples requested, 20 available");
}

/* The bytes of a grey image. */
static void pixels_are_bytes(void **state)
{
    struct temp_dir *p = *state;
    struct wl_arena *a = p->arena;
    uint8_t x[4 * PIXELS];
    int32_t y[4];
    int64_t n, size;
    char *text;
    struct wl_err e;
    assert_int_equal(wl_mkdirs(wl_path_join(a, p->dir, "train/only"), &e), 0);
    assert_int_equal(wl_file_read(wl_path_join(a, getenv("WL_FIXTURES"), "grey.JPEG"), 1 << 20, &text, (size_t *)&size,
                                  a, &e),
                     0);
    assert_int_equal(wl_file_write(wl_path_join(a, p->dir, "train/only/a.jpg"), text, (size_t)size, &e), 0);
    struct image_loader_opts o = options(p, true);
    struct image_loader *l = open_images(p, &o);
    assert_int_equal(wl_loader_start_epoch(l->feed, 1, 0, &e), 0);
    assert_int_equal(image_loader_next(l, x, y, &n, &e), 1);
    assert_int_equal(n, 1);
    for (int i = 0; i < PIXELS; i++) assert_int_equal(x[i], 77);
    assert_int_equal(image_loader_next(l, x, y, &n, &e), 0);
}

static void missing_parts_are_refused(void **state)
{
    struct temp_dir *p = *state;
    struct wl_arena *a = p->arena;
    struct wl_err e;
    struct image_loader_opts train = options(p, true), val = options(p, false);
    refuse(p, &train, "set: No such file or directory");
    assert_int_equal(wl_mkdirs(p->dir, &e), 0);
    refuse(p, &train, "no folder 'train'");
    assert_int_equal(wl_mkdirs(wl_path_join(a, p->dir, "train"), &e), 0);
    refuse(p, &train, "no class folder");
    assert_int_equal(wl_mkdirs(wl_path_join(a, p->dir, "train/cat"), &e), 0);
    refuse(p, &train, "train/cat: the class folder has no JPEG");
    refuse(p, &val, "no folder 'val'");
    assert_int_equal(wl_mkdirs(wl_path_join(a, p->dir, "val"), &e), 0);
    refuse(p, &val, "no images");
    assert_int_equal(wl_mkdirs(wl_path_join(a, p->dir, "val/dog"), &e), 0);
    refuse(p, &val, "val/dog: this class is not one of the 1 in");
}

static void wrong_sizes_are_refused(void **state)
{
    struct temp_dir *p = *state;
    temp_dir_write_images(p);
    struct image_loader_opts o = options(p, true);
    o.set.classes = 2;
    refuse(p, &o, "3 class folders, but the network has 2 classes");
    o.set.classes = 10;
    assert_int_equal(wl_images_classes(open_images(p, &o)->images), 10); /* given by --classes */
    o.set.classes = 3;
    o.feed.drop_last = true;
    o.feed.batch = 11;
    o.feed.ranks = 2;
    refuse(p, &o, "20 samples, fewer than one global batch of 22 (2 workers x local batch 11)");
}

static const char *damage(const struct temp_dir *p, const char *name)
{
    const char *path = wl_path_join(p->arena, p->dir, name);
    struct wl_err e;
    char *text;
    size_t n;
    assert_int_equal(wl_file_read(path, 1 << 20, &text, &n, p->arena, &e), 0);
    assert_int_equal(truncate(path, (off_t)n * 2 / 3), 0);
    return path;
}

/* Without skip_bad the epoch ends with the first bad file of the order, the same one for any number of threads. */
static void bad_image_is_an_error(void **state)
{
    struct temp_dir *p = *state;
    uint8_t x[4 * PIXELS];
    int32_t y[4];
    int64_t n, good[3];
    char first[1024] = "";
    struct wl_err e;
    temp_dir_write_images(p);
    damage(p, "train/class0000/train_0000003.JPEG");
    damage(p, "train/class0001/train_0000004.JPEG");
    for (int64_t threads = 0; threads < 3; threads++) {
        struct image_loader_opts o = options(p, true);
        o.feed.threads = threads;
        struct image_loader *l = open_images(p, &o);
        int rc;
        assert_int_equal(wl_loader_start_epoch(l->feed, 1, 0, &e), 0);
        for (good[threads] = 0; (rc = image_loader_next(l, x, y, &n, &e)) > 0;) good[threads]++;
        assert_int_equal(rc, WL_EINVAL);
        assert_non_null(strstr(e.msg, ".JPEG: cannot be decoded: "));
        assert_non_null(strstr(e.msg, "; --skip-bad skips such images"));
        if (threads == 0) memcpy(first, e.msg, sizeof first);
        assert_string_equal(e.msg, first);
        assert_int_equal(good[threads], good[0]);
        assert_int_equal(image_loader_next(l, x, y, &n, &e), WL_EINVAL); /* and stays one */
    }
}

static void skip_bad_replaces_bad_images(void **state)
{
    struct temp_dir *p = *state;
    double a[20], b[20];
    int32_t label[20];
    temp_dir_write_images(p);
    wl_log_init(WL_ERROR, -1);
    damage(p, "train/class0000/train_0000003.JPEG");
    damage(p, "val/class0001/val_0000001.JPEG");
    struct image_loader_opts o = options(p, true);
    o.feed.skip_bad = true;
    struct image_loader *l = open_images(p, &o);
    o.feed.threads = 0;
    struct image_loader *alone = open_images(p, &o);
    assert_int_equal(unlink(damage(p, "train/class0002/train_0000005.JPEG")), 0); /* after it was listed */
    assert_int_equal(digest_epoch(l, 1, 4, a, label), 20);                        /* full batches */
    assert_int_equal(digest_epoch(alone, 1, 4, b, label), 20);
    assert_same(a, b, 20);
    digest_epoch(l, 2, 4, b, label);
    assert_int_equal(wl_loader_bad_samples(l->feed), 2); /* each once */
    o = options(p, false);
    o.feed.skip_bad = true;
    l = open_images(p, &o);
    assert_int_equal(digest_epoch(l, 1, 4, a, label), 6); /* left out */
    assert_int_equal(wl_loader_bad_samples(l->feed), 1);
}

static void only_bad_images_are_an_error(void **state)
{
    struct temp_dir *p = *state;
    struct wl_arena *a = p->arena;
    uint8_t x[4 * PIXELS];
    int32_t y[4];
    int64_t n;
    struct wl_err e;
    wl_log_init(WL_ERROR, -1);
    assert_int_equal(wl_mkdirs(wl_path_join(a, p->dir, "train/cat"), &e), 0);
    assert_int_equal(wl_file_write(wl_path_join(a, p->dir, "train/cat/a.jpg"), "no", 2, &e), 0);
    struct image_loader_opts o = options(p, true);
    o.feed.skip_bad = true;
    struct image_loader *l = open_images(p, &o);
    assert_int_equal(wl_loader_start_epoch(l->feed, 1, 0, &e), 0);
    assert_int_equal(image_loader_next(l, x, y, &n, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "no image can be read; the last"));
}

/* Once the buffers have grown to the largest image, batches and epochs allocate nothing. */
static void batches_allocate_nothing(void **state)
{
    struct temp_dir *p = *state;
    static uint8_t x[4 * PIXELS];
    int32_t y[4];
    int64_t n;
    long before = 0;
    struct wl_err e;
    temp_dir_write_images(p);
    struct image_loader_opts o = options(p, true);
    o.feed.threads = 1; /* which thread meets the largest image when is chance */
    struct image_loader *l = open_images(p, &o);
    for (int epoch = 0; epoch < 20; epoch++) {
        if (epoch == 10) before = allocations;
        assert_int_equal(wl_loader_start_epoch(l->feed, epoch, 0, &e), 0);
        while (image_loader_next(l, x, y, &n, &e) > 0) continue;
    }
    assert_true(before > 0);
    assert_int_equal(allocations, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_do_not_change_the_batches, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(ranks_together_equal_one_rank, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(validation_is_in_order_without_augmentation, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(abandoned_epoch_does_not_disturb_the_next, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(limit_keeps_class_proportions, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(pixels_are_bytes, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(missing_parts_are_refused, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(wrong_sizes_are_refused, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(bad_image_is_an_error, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(skip_bad_replaces_bad_images, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(only_bad_images_are_an_error, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(batches_allocate_nothing, temp_dir_setup, temp_dir_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
