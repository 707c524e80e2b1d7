/* A temporary folder for the tests of data sets, and images in it. */
#ifndef WL_TESTS_DATA_TEMP_DIR_H
#define WL_TESTS_DATA_TEMP_DIR_H

#include "data/data.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct temp_dir {
    struct wl_arena *arena;
    const char *dir; /* does not exist yet; in root */
    char root[64];
};

static int temp_dir_remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static inline int temp_dir_setup(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct temp_dir *p = wl_new(a, struct temp_dir);
    p->arena = a;
    snprintf(p->root, sizeof p->root, "/tmp/wattlaw-data-XXXXXX");
    if (!mkdtemp(p->root)) return -1;
    p->dir = wl_path_join(a, p->root, "set");
    *state = p;
    return 0;
}

static inline int temp_dir_teardown(void **state)
{
    struct temp_dir *p = *state;
    char root[64];
    memcpy(root, p->root, sizeof root);
    wl_arena_free(p->arena); /* ends the threads */
    return nftw(root, temp_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A small data set: 3 classes, 20 + 7 images of 40 pixels. */
static inline void temp_dir_write_images(const struct temp_dir *p)
{
    struct wl_imagenet_synth_opts o = {
        .dir = p->dir, .classes = 3, .images = 20, .val_images = 7, .size = 40, .threads = 2
    };
    struct wl_err e = { 0 };
    int64_t written;
    assert_int_equal(wl_imagenet_synth(&o, false, &written, p->arena, &e), 0);
    assert_int_equal(written, 27);
}

/* The same images, in shards. */
static inline void temp_dir_write_shards(const struct temp_dir *p, const char *dir, int64_t shards)
{
    struct wl_imagenet_synth_opts o = { .dir = dir,
                                        .classes = 3,
                                        .images = 20,
                                        .val_images = 7,
                                        .size = 40,
                                        .threads = 2,
                                        .tfrecord = true,
                                        .shards = shards };
    struct wl_err e = { 0 };
    int64_t written;
    if (wl_imagenet_synth(&o, false, &written, p->arena, &e) != 0) fail_msg("%s", e.msg);
    assert_int_equal(written, 27);
}

/* A loader of images. */
struct image_loader_opts {
    struct wl_images_opts set;
    struct wl_loader_opts feed;
};
struct image_loader {
    struct wl_images *images;
    struct wl_loader *feed;
};

static inline int image_loader_open(struct image_loader *l, const struct image_loader_opts *o, struct wl_arena *a,
                                    struct wl_err *e)
{
    int rc = wl_images_open(&l->images, &o->set, a, e);
    return rc ? rc : wl_loader_open(&l->feed, wl_images_dataset(l->images), &o->feed, a, e);
}

static inline int image_loader_next(const struct image_loader *l, uint8_t *x, int32_t *y, int64_t *n, struct wl_err *e)
{
    return wl_loader_next(l->feed, (void *const[]) { x, y }, n, e);
}

/* Random crops of a training set, or centre crops of the validation set. */
static inline struct image_loader_opts image_loader_options(const char *dir, bool train, int64_t size)
{
    return (struct image_loader_opts) {
        .set = { .dir = dir, .train = train, .image_size = size, .augment = true },
        .feed = { .batch = 4, .ranks = 1, .threads = 2, .seed = 5, .training = train },
    };
}

static inline const char *temp_dir_path(const struct temp_dir *p, const char *name)
{
    return wl_path_join(p->arena, p->dir, name);
}

/* Writes one byte of a file. */
static inline void temp_dir_poke_byte(const char *path, long at, int byte)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_equal(fputc(byte, f), byte);
    assert_int_equal(fclose(f), 0);
}

#endif
