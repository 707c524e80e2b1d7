#include "data/images/synth_draw.h"
#include "temp_dir.h"

static struct wl_imagenet_synth_opts options(const struct temp_dir *p)
{
    return (struct wl_imagenet_synth_opts) {
        .dir = p->dir, .classes = 4, .images = 10, .size = 24, .seed = 3, .threads = 2
    };
}

static int64_t generate(const struct temp_dir *p, const struct wl_imagenet_synth_opts *o)
{
    struct wl_err e = { 0 };
    int64_t written;
    int rc = wl_imagenet_synth(o, false, &written, p->arena, &e);
    if (rc != 0) fail_msg("%s", e.msg);
    return written;
}

static void refuse(const struct temp_dir *p, struct wl_imagenet_synth_opts o, const char *cause)
{
    struct wl_err e = { 0 };
    int64_t written;
    assert_int_equal(wl_imagenet_synth(&o, false, &written, p->arena, &e), WL_EINVAL);
    if (!strstr(e.msg, cause)) fail_msg("'%s' lacks '%s'", e.msg, cause);
    assert_int_equal(written, 0);
}

static size_t count(const struct temp_dir *p, const char *folder)
{
    struct wl_strs names;
    struct wl_err e;
    assert_int_equal(wl_dir_list(wl_path_join(p->arena, p->dir, folder), &names, p->arena, &e), 0);
    return names.n;
}

static void class_folders_are_written(void **state)
{
    struct temp_dir *p = *state;
    struct wl_imagenet_synth_opts o = options(p);
    assert_int_equal(generate(p, &o), 14); /* one a class at least in val/ */
    assert_int_equal(count(p, "train"), 4);
    assert_int_equal(count(p, "train/class0000"), 3);
    assert_int_equal(count(p, "train/class0003"), 2);
    assert_int_equal(count(p, "val/class0003"), 1);
}

/* A second call does nothing; an interrupted call is completed; other settings are refused. */
static void manifest_decides_what_a_second_call_does(void **state)
{
    struct temp_dir *p = *state;
    struct wl_imagenet_synth_opts o = options(p), other = o;
    const char *manifest = wl_path_join(p->arena, p->dir, "wattlaw-synthetic.ini");
    struct wl_err e;
    char *text;
    generate(p, &o);
    assert_int_equal(generate(p, &o), 0);
    other.seed = 4;
    refuse(p, other, "holds data generated with other settings");

    assert_int_equal(wl_file_read(manifest, 1 << 16, &text, NULL, p->arena, &e), 0);
    char *yes = strstr(text, "complete = yes");
    assert_non_null(yes);
    memcpy(yes, "complete = no\n", 14);
    text[strlen(text) - 1] = '\0';
    assert_int_equal(wl_file_write(manifest, text, strlen(text), &e), 0);
    assert_int_equal(unlink(wl_path_join(p->arena, p->dir, "train/class0000/train_0000000.JPEG")), 0);
    assert_int_equal(generate(p, &o), 14);
    assert_int_equal(count(p, "train/class0000"), 3);
}

static void foreign_folder_is_refused(void **state)
{
    struct temp_dir *p = *state;
    struct wl_err e;
    assert_int_equal(wl_mkdirs(wl_path_join(p->arena, p->dir, "train/n01440764"), &e), 0);
    refuse(p, options(p), "the folder is not empty and has no wattlaw-synthetic.ini");
    assert_int_equal(count(p, "train"), 1);
}

static void values_out_of_range_are_refused(void **state)
{
    struct temp_dir *p = *state;
    struct wl_imagenet_synth_opts o = options(p);
    o.classes = 1;
    refuse(p, o, "1 classes; expected 2 to 1000");
    o = options(p);
    o.images = 3;
    refuse(p, o, "for 4 classes; expected at least one per class");
    o = options(p);
    o.size = 4;
    refuse(p, o, "size 4; expected 8 to 4096");
    assert_false(wl_is_dir(p->dir));
}

static void unwritable_folder_is_an_error(void **state)
{
    struct temp_dir *p = *state;
    struct wl_imagenet_synth_opts o = options(p);
    struct wl_err e = { 0 };
    int64_t written;
    o.dir = "/proc/wattlaw";
    assert_true(wl_imagenet_synth(&o, false, &written, p->arena, &e) < 0);
    assert_non_null(strstr(e.msg, "/proc/wattlaw"));
}

/* The same bytes for any number of threads. */
static void threads_do_not_change_the_bytes(void **state)
{
    struct temp_dir *p = *state;
    struct wl_arena *a = p->arena;
    struct wl_imagenet_synth_opts one = options(p), three = options(p);
    struct wl_err e;
    one.threads = 1;
    three.threads = 3;
    three.dir = wl_path_join(a, p->root, "three");
    generate(p, &one);
    generate(p, &three);
    for (int i = 0; i < 10; i++) {
        const char *name = wl_strf(a, "train/class%04d/train_%07d.JPEG", i % 4, i);
        char *x, *y;
        size_t nx, ny;
        assert_int_equal(wl_file_read(wl_path_join(a, one.dir, name), 1 << 20, &x, &nx, a, &e), 0);
        assert_int_equal(wl_file_read(wl_path_join(a, three.dir, name), 1 << 20, &y, &ny, a, &e), 0);
        assert_int_equal(nx, ny);
        assert_memory_equal(x, y, nx);
    }
}

/* Images differ within a class; over many of them the class shows in the mean colour of the saturated pixels. */
static void class_shows_in_the_colour(void **state)
{
    enum { SIZE = 32, CLASSES = 2, EACH = 60 };
    uint8_t rgb[3 * SIZE * SIZE], before[sizeof rgb] = { 0 };
    double red[2] = { 0 }, blue[2] = { 0 };
    (void)state;
    for (int i = 0; i < CLASSES * EACH; i++) {
        wl_imagenet_synth_draw(rgb, SIZE, CLASSES, 1, 0, i);
        assert_memory_not_equal(rgb, before, sizeof rgb);
        memcpy(before, rgb, sizeof rgb);
        for (int k = 0; k < SIZE * SIZE; k++) {
            int r = rgb[3 * k], g = rgb[3 * k + 1], b = rgb[3 * k + 2];
            int largest = r > g ? (r > b ? r : b) : g > b ? g : b, smallest = r < g ? (r < b ? r : b) : g < b ? g : b;
            if (largest - smallest < 90) continue;
            red[i % 2] += r > b;
            blue[i % 2] += b > r;
        }
    }
    /* two classes: hues 0 (red) and 1/2 (cyan) */
    assert_true(red[0] > 2 * blue[0]);
    assert_true(blue[1] > 2 * red[1]);
}

static void shard_options_are_checked(void **state)
{
    struct temp_dir *p = *state;
    struct wl_imagenet_synth_opts o = {
        .dir = p->dir, .classes = 3, .images = 20, .size = 16, .tfrecord = true, .shards = 21
    };
    refuse(p, o, "21 shards; expected 1 to 20");
    o.shards = 5;
    assert_true(generate(p, &o) > 0);
    assert_int_equal(generate(p, &o), 0); /* complete already */
    o.shards = 4;
    refuse(p, o, "data generated with other settings");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(class_folders_are_written, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(manifest_decides_what_a_second_call_does, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(foreign_folder_is_refused, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(values_out_of_range_are_refused, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(unwritable_folder_is_an_error, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(threads_do_not_change_the_bytes, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(shard_options_are_checked, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test(class_shows_in_the_colour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
