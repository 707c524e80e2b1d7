/* Images per second that one core reads, decodes, crops and resizes, against decoding alone (the same files decoded at
 * full size by libjpeg-turbo), and against the same images from TFRecord shards with verified checksums.
 * Rounds alternate; medians of 5, and their ratios. */
#include "data/loader/loader.h"
#include "data/images/images.h"
#include "data/images/jpeg.h"
#include "data/images/source.h"
#include "data/images/synth.h"

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 5, BATCH = 32 };

struct setting {
    int64_t file_size, image_size, images;
};

/* Images per second of a complete epoch; decoding happens in this thread. */
static double load(struct wl_loader *f, int64_t epoch, void *const *inputs)
{
    struct wl_err e;
    int64_t n, total = 0, start = wl_now_ns();
    must(wl_loader_start_epoch(f, epoch, 0, &e), &e);
    for (int rc; (rc = wl_loader_next(f, inputs, &n, &e)) != 0; total += n) must(rc, &e);
    return (double)total / ((double)(wl_now_ns() - start) * 1e-9);
}

static double decode(struct wl_jpeg *j, const struct wl_image_source *source, struct wl_encoded_image *sample)
{
    struct wl_err e;
    int64_t start = wl_now_ns();
    for (int64_t i = 0; i < source->n; i++) {
        struct wl_decoded_image pixels;
        int width, height;
        must(wl_image_source_read(source, i, sample, &e), &e);
        must(wl_jpeg_open(j, sample, &width, &height, &e), &e);
        must(wl_jpeg_decode(j, 1, &pixels, &e), &e);
    }
    return (double)source->n / ((double)(wl_now_ns() - start) * 1e-9);
}

static struct wl_loader *open_feed(const struct setting *s, struct wl_imagenet_synth_opts *synth, struct wl_arena *a)
{
    const struct wl_images_opts o = { .dir = synth->dir, .train = true, .image_size = s->image_size, .augment = true };
    const struct wl_loader_opts options = { .batch = BATCH, .ranks = 1, .seed = 1, .training = true };
    struct wl_images *images;
    struct wl_loader *f;
    struct wl_err e;
    int64_t written;
    must(wl_imagenet_synth(synth, false, &written, a, &e), &e);
    must(wl_images_open(&images, &o, a, &e), &e);
    must(wl_loader_open(&f, wl_images_dataset(images), &options, a, &e), &e);
    return f;
}

static void measure(const struct setting *s, const char *root, struct wl_arena *a)
{
    struct wl_err e;
    struct wl_imagenet_synth_opts synth = { .dir = wl_strf(a, "%s/%lld", root, (long long)s->file_size),
                                            .classes = 10,
                                            .images = s->images,
                                            .size = s->file_size,
                                            .seed = 1 };
    struct wl_imagenet_synth_opts shards = synth;
    struct wl_image_source source;
    struct wl_encoded_image *sample = wl_new(a, struct wl_encoded_image);
    struct wl_jpeg *j;
    double folders[ROUNDS], tfrecord[ROUNDS], decoded[ROUNDS];
    int32_t labels[BATCH];
    void *inputs[] = { wl_alloc(a, (size_t)(BATCH * 3 * s->image_size * s->image_size)), labels };
    shards.dir = wl_strf(a, "%s-shards", synth.dir);
    shards.tfrecord = true;
    struct wl_loader *from_folders = open_feed(s, &synth, a), *from_shards = open_feed(s, &shards, a);
    must(wl_jpeg_new(&j, a, &e), &e);
    must(wl_image_source_open(&source, synth.dir, true, 0, a, &e), &e);
    load(from_folders, 0, inputs); /* the files are in the page cache from here on */
    load(from_shards, 0, inputs);
    for (int round = 0; round < ROUNDS; round++) {
        folders[round] = load(from_folders, round + 1, inputs);
        tfrecord[round] = load(from_shards, round + 1, inputs);
        decoded[round] = decode(j, &source, sample);
    }
    free(sample->bytes.p);
    double mine = median(folders, ROUNDS), records = median(tfrecord, ROUNDS), whole = median(decoded, ROUNDS);
    printf("files %lld px, images %lld px: %.0f images/s a core; from TFRecord shards %.0f, ratio %.2f; decoding whole "
           "files %.0f, ratio %.2f\n",
           (long long)s->file_size, (long long)s->image_size, mine, records, records / mine, whole, mine / whole);
}

int main(void)
{
    static const struct setting settings[] = { { 64, 64, 1000 }, { 256, 224, 200 }, { 512, 224, 100 } };
    struct wl_arena *a = wl_arena_new(NULL);
    char root[] = "/tmp/wattlaw-bench-XXXXXX";
    if (!mkdtemp(root)) return 1;
    for (size_t i = 0; i < WL_COUNT(settings); i++) measure(&settings[i], root, a);
    char *argv[] = { (char *)"rm", (char *)"-r", root, NULL };
    struct wl_process_result end;
    struct wl_err e;
    must(wl_process_run(&(struct wl_process_run) { .argv = argv, .merge_stderr = true }, NULL, &end, a, &e), &e);
    wl_arena_free(a);
    return end.status;
}
