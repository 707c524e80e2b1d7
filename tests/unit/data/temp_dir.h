/* A temporary folder for the tests of this area. */
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

struct place {
    struct wl_arena *arena;
    const char *dir; /* not made yet, in a temporary folder of its own */
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
    struct place *p = wl_new(a, struct place);
    p->arena = a;
    snprintf(p->root, sizeof p->root, "/tmp/wattlaw-data-XXXXXX");
    if (!mkdtemp(p->root)) return -1;
    p->dir = wl_path_join(a, p->root, "set");
    *state = p;
    return 0;
}

static inline int temp_dir_teardown(void **state)
{
    struct place *p = *state;
    char root[64];
    memcpy(root, p->root, sizeof root);
    wl_arena_free(p->arena); /* ends the threads first */
    return nftw(root, temp_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A small data set: 3 classes, 20 + 7 pictures of 40 pixels. */
static inline void temp_dir_write_images(const struct place *p)
{
    struct wl_imagenet_synth_opts o = {
        .dir = p->dir, .classes = 3, .images = 20, .val_images = 7, .size = 40, .threads = 2
    };
    struct wl_err e = { 0 };
    int64_t written;
    assert_int_equal(wl_imagenet_synth(&o, false, &written, p->arena, &e), 0);
    assert_int_equal(written, 27);
}

/* The same pictures, in shards. */
static inline void temp_dir_write_shards(const struct place *p, const char *dir, int64_t shards)
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

/* A feed of pictures. */
struct pictures_opts {
    struct wl_images_opts set;
    struct wl_loader_opts feed;
};
struct pictures {
    struct wl_images *images;
    struct wl_loader *feed;
};

static inline int pictures_open(struct pictures *l, const struct pictures_opts *o, struct wl_arena *a, struct wl_err *e)
{
    int rc = wl_images_open(&l->images, &o->set, a, e);
    return rc ? rc : wl_loader_open(&l->feed, wl_images_dataset(l->images), &o->feed, a, e);
}

static inline int pictures_next(const struct pictures *l, float *x, int32_t *y, int64_t *n, struct wl_err *e)
{
    return wl_loader_next(l->feed, (void *const[]) { x, y }, n, e);
}

/* Random crops of a training set, or the centres of the other one. */
static inline struct pictures_opts pictures_options(const char *dir, bool train, int64_t size)
{
    return (struct pictures_opts) {
        .set = { .dir = dir, .train = train, .image_size = size, .augment = true },
        .feed = { .batch = 4, .ranks = 1, .threads = 2, .seed = 5, .training = train },
    };
}

static inline const char *temp_dir_path(const struct place *p, const char *name)
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
