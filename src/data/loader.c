/* Batches ahead of time. The epoch is a list of items (step, place in the batch) that the workers take in order; each
 * decodes its image into its place of a ring of batches. The consumer waits for the oldest batch, and converts bytes
 * to normalised floats on the way into its own buffer. One mutex guards everything but the pixels: a place is written
 * by the worker that took it, and read after the batch is complete. */
#include "data/internal.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { RING = 3 };

/* A batch in the ring. */
struct slot {
    uint8_t *pixels; /* [B,3,S,S] */
    int32_t *labels; /* [B] */
    bool *good;      /* [B] false: left out */
    int64_t left;    /* items not finished yet */
    int64_t failed;  /* first place that failed, B: none */
    struct wl_err why;
};

struct worker {
    struct wl_loader *loader;
    struct wl_sample sample;
    struct wl_jpeg *jpeg;
    struct wl_resize *resize;
    pthread_t thread;
};

struct wl_loader {
    struct wl_loader_opts o;
    struct wl_source source;
    struct wl_shares shares;
    uint32_t *order; /* [samples] of this epoch */
    int64_t epoch, steps;

    pthread_mutex_t lock;
    pthread_cond_t work, done; /* something to take; something was finished */
    struct slot *ring;
    int64_t step, item; /* the next item to take */
    int64_t given;      /* batches that the consumer has taken */
    int64_t busy;       /* items in work */
    bool stop;
    bool *bad_seen; /* [samples] with skip_bad: named and counted already */
    int64_t bad, waited_ns;
    bool small_seen; /* an image smaller than what is made of it was named */

    struct worker *workers;
    int64_t started; /* threads */
};

/* One item as its worker needs it. */
struct item {
    struct slot *slot;
    int64_t place, sample;
};

/* Shuffled, with full batches; otherwise in order, each image once. */
static bool is_training(const struct wl_loader *l) { return l->o.train && !l->o.ordered; }

/* ---- one image ---- */

/* Such images are enlarged, as torchvision does it; many of them are rather another data set or a wrong image size. */
static void note_small(struct worker *w, int width, int height)
{
    struct wl_loader *l = w->loader;
    pthread_mutex_lock(&l->lock);
    bool first = !l->small_seen;
    l->small_seen = true;
    pthread_mutex_unlock(&l->lock);
    if (first && l->o.rank == 0)
        wl_log(WL_WARN, "data",
               "%s: %d x %d pixels are less than the %lld x %lld that are asked for; such images are enlarged",
               w->sample.name, width, height, (long long)l->o.image_size, (long long)l->o.image_size);
}

static int load_sample(struct worker *w, int64_t sample, uint8_t *out, struct wl_err *e)
{
    const struct wl_loader *l = w->loader;
    struct wl_pixels pixels;
    struct wl_crop crop;
    int width, height, rc;
    if ((rc = wl_source_read(&l->source, sample, &w->sample, e)) != 0) return rc;
    if ((rc = wl_jpeg_open(w->jpeg, &w->sample, &width, &height, e)) != 0) return rc;
    if (width < l->o.image_size || height < l->o.image_size) note_small(w, width, height);
    if (is_training(l) && l->o.augment) {
        struct wl_draws d = wl_draws(l->o.seed, "augment", (uint64_t)l->epoch, (uint64_t)sample);
        crop = wl_crop_random(width, height, &d);
    } else {
        crop = wl_crop_centre(width, height);
    }
    rc = wl_jpeg_decode(w->jpeg, wl_crop_reduction(&crop, (int)l->o.image_size), &pixels, e);
    return rc == 0 ? wl_resize(w->resize, &pixels, &crop, out, e) : rc;
}

/* An image that cannot be read ends the training, unless the user wants to go on without it. */
static int bad_image(struct wl_err *e)
{
    const struct wl_err why = *e;
    return wl_fail(e, why.code, "%s; --skip-bad goes on without such images", why.msg);
}

static void note_bad(struct wl_loader *l, int64_t sample, const struct wl_err *why)
{
    pthread_mutex_lock(&l->lock);
    bool first = !l->bad_seen[sample];
    l->bad_seen[sample] = true;
    l->bad += first;
    pthread_mutex_unlock(&l->lock);
    if (first) wl_log(WL_WARN, "data", "skipped: %s", why->msg);
}

/* Fills a place of a batch. A bad image of train/ is replaced by the next readable one, so that batches stay full and
 * the result is the same for any number of threads. */
static int load_item(struct worker *w, const struct item *it, struct wl_err *e)
{
    struct wl_loader *l = w->loader;
    uint8_t *out = it->slot->pixels + (size_t)it->place * 3 * (size_t)(l->o.image_size * l->o.image_size);
    int64_t tries = l->o.skip_bad && is_training(l) ? l->source.n : 1;
    it->slot->good[it->place] = true;
    for (int64_t t = 0; t < tries; t++) {
        int64_t sample = (it->sample + t) % l->source.n;
        int rc = load_sample(w, sample, out, e);
        it->slot->labels[it->place] = w->sample.class_index;
        if (rc == 0 || rc == WL_ENOMEM) return rc;
        if (!l->o.skip_bad) return bad_image(e);
        note_bad(l, sample, e);
    }
    it->slot->good[it->place] = false;
    return is_training(l) ? wl_prefix(e, "%s: no image can be read; the last", l->source.dir) : 0;
}

/* ---- the queue: all of it under the lock ---- */

static struct slot *slot_of(struct wl_loader *l, int64_t step) { return &l->ring[step % l->o.ring]; }

/* Is there an item, and room in the ring for it? Steps in which this rank has no sample have no items. */
static bool can_take(struct wl_loader *l)
{
    int64_t from;
    while (l->step < l->steps && wl_shares_at(&l->shares, l->step, &from) == 0) l->step++;
    return l->step < l->steps && l->step < l->given + l->o.ring;
}

static struct item take(struct wl_loader *l)
{
    int64_t from, n = wl_shares_at(&l->shares, l->step, &from);
    struct item it = { .slot = slot_of(l, l->step), .place = l->item, .sample = l->order[from + l->item] };
    if (l->item == 0) {
        it.slot->left = n;
        it.slot->failed = l->o.batch;
    }
    if (++l->item == n) {
        l->step++;
        l->item = 0;
    }
    l->busy++;
    return it;
}

static void finish(struct wl_loader *l, const struct item *it, int rc, const struct wl_err *why)
{
    if (rc != 0 && it->place < it->slot->failed) {
        it->slot->failed = it->place; /* the first place counts: the message does not depend on timing */
        it->slot->why = *why;
    }
    it->slot->left--;
    l->busy--;
    if (it->slot->left == 0 || l->busy == 0) pthread_cond_signal(&l->done);
}

/* Takes and finishes one item; the lock is held on entry and on return. */
static void work_once(struct worker *w)
{
    struct wl_loader *l = w->loader;
    struct wl_err why = { 0 };
    struct item it = take(l);
    pthread_mutex_unlock(&l->lock);
    int rc = load_item(w, &it, &why);
    pthread_mutex_lock(&l->lock);
    finish(l, &it, rc, &why);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct wl_loader *l = w->loader;
    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        if (can_take(l))
            work_once(w);
        else
            pthread_cond_wait(&l->work, &l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* ---- opening and closing ---- */

static void loader_release(void *what)
{
    struct wl_loader *l = what;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (int64_t i = 0; i < l->started; i++) pthread_join(l->workers[i].thread, NULL);
    pthread_cond_destroy(&l->work);
    pthread_cond_destroy(&l->done);
    pthread_mutex_destroy(&l->lock);
}

static int check_opts(const struct wl_loader *l, struct wl_err *e)
{
    const struct wl_loader_opts *o = &l->o;
    long long global = (long long)(o->batch * o->ranks);
    if (o->drop_last && l->source.n < global)
        return wl_fail(e, WL_EINVAL,
                       "%s: %lld samples are less than one global batch of %lld (%lld worker%s x local batch %lld)",
                       l->source.dir, (long long)l->source.n, global, (long long)o->ranks, o->ranks == 1 ? "" : "s",
                       (long long)o->batch);
    return 0;
}

/* What may be meant so, and may be a mistake; said once for all ranks. */
static void note_classes(const struct wl_loader *l)
{
    const struct wl_source *s = &l->source;
    long long found = (long long)s->labels.n, classes = (long long)s->classes;
    if (l->o.rank > 0 || l->o.ordered || found == 0) return;
    if (l->o.train && found < classes)
        wl_log(WL_WARN, "data", "%s: %lld classes, fewer than the network's %lld (--classes): the others get no images",
               s->dir, found, classes);
    if (!l->o.train && s->present && s->present < found)
        wl_log(WL_WARN, "data", "%s: images of %lld classes, but the training set has %lld", s->dir,
               (long long)s->present, found);
}

static int make_ring(struct wl_loader *l, struct wl_arena *a, struct wl_err *e)
{
    size_t batch = (size_t)l->o.batch, image = 3 * (size_t)(l->o.image_size * l->o.image_size);
    l->ring = wl_new_array(a, struct slot, (size_t)l->o.ring);
    for (int64_t i = 0; i < l->o.ring; i++) {
        struct slot *s = &l->ring[i];
        s->pixels = wl_try_alloc(a, batch * image, 64, "batches of images", e);
        if (!s->pixels) return WL_ENOMEM;
        s->labels = wl_new_array(a, int32_t, batch);
        s->good = wl_new_array(a, bool, batch);
    }
    return 0;
}

/* Signals are for the thread that runs the job. */
static int start_threads(struct wl_loader *l, struct wl_err *e)
{
    sigset_t all, old;
    int rc = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (rc == 0 && l->started < l->o.threads) {
        struct worker *w = &l->workers[l->started];
        rc = pthread_create(&w->thread, NULL, worker_main, w);
        if (rc == 0) l->started++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc == 0 ? 0 : wl_fail(e, WL_EIO, "cannot start a loader thread: %s", strerror(rc));
}

static void worker_release(void *what)
{
    struct worker *w = what;
    free(w->sample.bytes.p);
}

static int make_workers(struct wl_loader *l, struct wl_arena *a, struct wl_err *e)
{
    int64_t n = l->o.threads ? l->o.threads : 1;
    l->workers = wl_new_array(a, struct worker, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        l->workers[i].loader = l;
        l->workers[i].resize = wl_resize_new((int)l->o.image_size, a);
        wl_defer(a, worker_release, &l->workers[i]);
        int rc = wl_jpeg_new(&l->workers[i].jpeg, a, e);
        if (rc != 0) return rc;
    }
    return 0;
}

int wl_loader_open(struct wl_loader **out, const struct wl_loader_opts *opts, struct wl_arena *a, struct wl_err *e)
{
    struct wl_loader *l = wl_new(a, struct wl_loader);
    int rc;
    WL_CHECK(opts->batch > 0 && opts->image_size > 0 && opts->ranks > 0 && opts->rank >= 0 &&
             opts->rank < opts->ranks && opts->threads >= 0 && opts->ring >= 0);
    l->o = *opts;
    if (l->o.ring == 0) l->o.ring = RING;
    l->o.dir = wl_strdup(a, opts->dir);
    if ((rc = wl_source_open(&l->source, l->o.dir, l->o.train, l->o.classes, a, e)) != 0) return rc;
    if ((rc = wl_source_limit(&l->source, l->o.samples, e)) != 0) return rc;
    l->source.check_crc = !l->o.skip_crc;
    if ((rc = check_opts(l, e)) != 0) return rc;
    note_classes(l);
    l->shares = (struct wl_shares) {
        .samples = l->source.n, .batch = l->o.batch, .ranks = l->o.ranks, .rank = l->o.rank, .drop_last = l->o.drop_last
    };
    l->order = wl_new_array(a, uint32_t, (size_t)l->source.n);
    l->bad_seen = wl_new_array(a, bool, (size_t)l->source.n);
    if ((rc = make_ring(l, a, e)) != 0) return rc;
    if ((rc = make_workers(l, a, e)) != 0) return rc;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->done, NULL);
    wl_defer(a, loader_release, l); /* before the decoders: releases run newest first */
    *out = l;
    return start_threads(l, e);
}

/* ---- the consumer ---- */

int wl_loader_epoch(struct wl_loader *l, int64_t epoch, struct wl_err *e)
{
    if (epoch < 0 || epoch >= 1 << 24) return wl_fail(e, WL_EINVAL, "epoch %lld is out of range", (long long)epoch);
    pthread_mutex_lock(&l->lock);
    l->steps = 0; /* nothing more to take */
    while (l->busy) pthread_cond_wait(&l->done, &l->lock);
    l->epoch = epoch;
    if (is_training(l))
        wl_order_shuffle(l->order, l->source.n, l->o.seed, epoch);
    else
        for (int64_t i = 0; i < l->source.n; i++) l->order[i] = (uint32_t)i;
    l->step = l->item = l->given = 0;
    l->steps = wl_shares_steps(&l->shares);
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    return 0;
}

/* Waits until batch `given` is complete, or makes it where there are no threads. The lock is held. */
static void wait_for_batch(struct wl_loader *l)
{
    struct slot *slot = slot_of(l, l->given);
    int64_t since = 0;
    while (l->step <= l->given || slot->left > 0) {
        if (since == 0) since = wl_now_ns();
        if (l->o.threads > 0)
            pthread_cond_wait(&l->done, &l->lock);
        else if (can_take(l))
            work_once(&l->workers[0]);
    }
    if (since) l->waited_ns += wl_now_ns() - since;
}

/* x = (v/255 - mean) / std, planes of R, G, B; mean and std of ImageNet as torchvision has them. */
static void normalise(const uint8_t *pixels, size_t plane, float *x)
{
    static const float mean[3] = { 0.485f, 0.456f, 0.406f }, std[3] = { 0.229f, 0.224f, 0.225f };
    for (size_t c = 0; c < 3; c++) {
        float scale = 1 / (255 * std[c]), shift = -mean[c] / std[c];
        for (size_t i = 0; i < plane; i++) x[c * plane + i] = (float)pixels[c * plane + i] * scale + shift;
    }
}

static int64_t hand_over(const struct wl_loader *l, const struct slot *slot, int64_t count, float *x, int32_t *y)
{
    size_t plane = (size_t)(l->o.image_size * l->o.image_size);
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!slot->good[i]) continue;
        normalise(slot->pixels + (size_t)i * 3 * plane, plane, x + (size_t)n * 3 * plane);
        y[n++] = slot->labels[i];
    }
    return n;
}

int wl_loader_next(struct wl_loader *l, float *x, int32_t *y, int64_t *n, struct wl_err *e)
{
    struct slot *slot;
    int64_t from, count;
    *n = 0;
    if (l->given >= l->steps) return 0; /* both change only in calls of this thread */
    slot = slot_of(l, l->given);
    count = wl_shares_at(&l->shares, l->given, &from);
    if (count > 0) {
        pthread_mutex_lock(&l->lock);
        wait_for_batch(l);
        pthread_mutex_unlock(&l->lock);
        if (slot->failed < l->o.batch) return wl_fail(e, slot->why.code, "%s", slot->why.msg);
        *n = hand_over(l, slot, count, x, y);
    }
    pthread_mutex_lock(&l->lock);
    l->given++;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    return 1;
}

int64_t wl_loader_samples(const struct wl_loader *l) { return l->source.n; }
int64_t wl_loader_classes(const struct wl_loader *l) { return l->source.classes; }
int64_t wl_loader_batches(const struct wl_loader *l) { return wl_shares_steps(&l->shares); }
const char *wl_loader_format(const struct wl_loader *l) { return l->source.ops->name; }

const char *wl_loader_class_name(const struct wl_loader *l, int64_t i)
{
    return i < (int64_t)l->source.labels.n ? l->source.labels.v[i] : NULL;
}

int64_t wl_loader_waited_ns(const struct wl_loader *l) { return l->waited_ns; }

int64_t wl_loader_bad(struct wl_loader *l)
{
    pthread_mutex_lock(&l->lock);
    int64_t bad = l->bad;
    pthread_mutex_unlock(&l->lock);
    return bad;
}
