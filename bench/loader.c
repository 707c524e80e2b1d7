/* Images a second that one core reads, decodes, crops, resizes and normalises, beside what decoding alone allows: the
 * same files decoded whole by libjpeg-turbo. Rounds of both alternate; medians of 5, and their ratio. */
#include "data/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 5, BATCH = 32 };

struct setting {
    int64_t file_size, image_size, images;
};

static void must(int rc, const struct wl_err *e)
{
    if (rc >= 0) return;
    fprintf(stderr, "loader: %s\n", e->msg);
    exit(1);
}

static int by_value(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof *v, by_value);
    return v[ROUNDS / 2];
}

/* Images a second of a whole epoch; decoding happens in this thread. */
static double load(struct wl_loader *l, int64_t epoch, float *x, int32_t *y)
{
    struct wl_err e;
    int64_t n, total = 0, start = wl_now_ns();
    must(wl_loader_epoch(l, epoch, &e), &e);
    for (int rc; (rc = wl_loader_next(l, x, y, &n, &e)) != 0; total += n) must(rc, &e);
    return (double)total / ((double)(wl_now_ns() - start) * 1e-9);
}

static double decode(struct wl_jpeg *j, const struct wl_images *images)
{
    struct wl_err e;
    int64_t start = wl_now_ns();
    for (int64_t i = 0; i < images->n; i++) {
        char path[4096];
        struct wl_pixels pixels;
        int width, height;
        must(wl_images_path(images, i, path, sizeof path, &e), &e);
        must(wl_jpeg_open(j, path, &width, &height, &e), &e);
        must(wl_jpeg_decode(j, 1, &pixels, &e), &e);
    }
    return (double)images->n / ((double)(wl_now_ns() - start) * 1e-9);
}

static void measure(const struct setting *s, const char *root, struct wl_arena *a)
{
    struct wl_err e;
    int64_t written;
    struct wl_synth_opts synth = { .dir = wl_strf(a, "%s/%lld", root, (long long)s->file_size),
                                   .classes = 10,
                                   .images = s->images,
                                   .size = s->file_size,
                                   .seed = 1 };
    struct wl_loader_opts o = { .dir = synth.dir,
                                .train = true,
                                .image_size = s->image_size,
                                .batch = BATCH,
                                .ranks = 1,
                                .seed = 1,
                                .augment = true };
    struct wl_loader *l;
    struct wl_jpeg *j;
    struct wl_images images;
    double loaded[ROUNDS], decoded[ROUNDS];
    float *x = wl_alloc(a, sizeof *x * (size_t)(BATCH * 3 * s->image_size * s->image_size));
    int32_t y[BATCH];
    must(wl_synth_imagenet(&synth, false, &written, a, &e), &e);
    must(wl_loader_open(&l, &o, a, &e), &e);
    must(wl_jpeg_new(&j, a, &e), &e);
    must(wl_images_list(&images, synth.dir, "train", a, &e), &e);
    load(l, 0, x, y); /* the files are in the page cache from here on */
    for (int round = 0; round < ROUNDS; round++) {
        loaded[round] = load(l, round + 1, x, y);
        decoded[round] = decode(j, &images);
    }
    double mine = median(loaded), whole = median(decoded);
    printf("files %lld px, images %lld px: %.0f images/s a core; decoding whole files %.0f; ratio %.2f\n",
           (long long)s->file_size, (long long)s->image_size, mine, whole, mine / whole);
}

int main(void)
{
    static const struct setting settings[] = { { 64, 64, 1000 }, { 256, 224, 200 }, { 512, 224, 100 } };
    struct wl_arena *a = wl_arena_new(NULL);
    char root[] = "/tmp/wattlaw-bench-XXXXXX";
    if (!mkdtemp(root)) return 1;
    for (size_t i = 0; i < WL_COUNT(settings); i++) measure(&settings[i], root, a);
    char *argv[] = { (char *)"rm", (char *)"-r", root, NULL };
    struct wl_exit how;
    struct wl_err e;
    must(wl_run(argv, 0, true, NULL, &how, a, &e), &e);
    wl_arena_free(a);
    return how.status;
}
