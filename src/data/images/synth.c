#include "data/images/synth.h"

#include "data/images/synth_write.h"
#include "data/manifest.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { GENERATOR_VERSION = 1 /* incremented when synth_draw.c draws other images */ };

static const char *settings_text(const struct wl_imagenet_synth_opts *o, struct wl_arena *a)
{
    const char *shards =
        o->tfrecord ? wl_strf(a, "shards = %lld\nval_shards = %lld\n", (long long)o->shards, (long long)o->val_shards)
                    : "";
    return wl_strf(a,
                   "# Written by wattlaw-train data imagenet --synthetic; the pictures are drawn, not photographs.\n"
                   "[imagenet]\nrecipe = %d\nclasses = %lld\nimages = %lld\nval_images = %lld\nsize = %lld\n"
                   "seed = %lld\n%s",
                   GENERATOR_VERSION, (long long)o->classes, (long long)o->images, (long long)o->val_images,
                   (long long)o->size, (long long)o->seed, shards);
}

/* ---- writing ---- */

/* Shared by the threads. */
struct job {
    const struct wl_imagenet_synth_opts *o;
    int64_t total; /* images */
    atomic_llong next, done;
    pthread_mutex_t lock;
    struct wl_err why; /* the first error, under the lock */
    atomic_bool failed;
};

static void keep_first(struct job *job, const struct wl_err *why)
{
    pthread_mutex_lock(&job->lock);
    if (!atomic_exchange(&job->failed, true)) job->why = *why;
    pthread_mutex_unlock(&job->lock);
}

static void *write_some(void *arg)
{
    struct job *job = arg;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_imagenet_synth_writer *writer;
    struct wl_err why = { 0 };
    int rc = wl_imagenet_synth_writer_new(&writer, job->o, a, &why);
    while (rc == 0 && !atomic_load(&job->failed)) {
        int64_t unit = atomic_fetch_add(&job->next, 1);
        if (unit >= wl_imagenet_synth_units(job->o)) break;
        rc = wl_imagenet_synth_write(writer, unit, &job->done, &why);
    }
    if (rc != 0) keep_first(job, &why);
    wl_arena_free(a);
    return NULL;
}

static void show_progress(struct job *job)
{
    struct wl_progress bar;
    wl_progress_start(&bar, "images");
    while (atomic_load(&job->done) < job->total && !atomic_load(&job->failed)) {
        wl_progress_update(&bar, (double)atomic_load(&job->done), (double)job->total, -1, NULL);
        (void)wl_sleep_until(wl_now_ns() + WL_NS_PER_S / 20);
    }
    wl_progress_clear(&bar);
}

static int run_threads(struct job *job, int64_t threads, bool progress, struct wl_arena *a, struct wl_err *e)
{
    pthread_t *thread = wl_new_array(a, pthread_t, (size_t)threads);
    int64_t started = 0;
    int rc = 0;
    pthread_mutex_init(&job->lock, NULL);
    while (rc == 0 && started < threads)
        if ((rc = pthread_create(&thread[started], NULL, write_some, job)) == 0) started++;
    if (started == 0) return wl_fail(e, WL_EIO, "cannot start a thread: %s", strerror(rc));
    if (progress) show_progress(job);
    for (int64_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
    pthread_mutex_destroy(&job->lock);
    return job->failed ? wl_fail(e, job->why.code, "%s", job->why.msg) : 0;
}

/* Replaces 0 by defaults. TensorFlow's script writes one eighth as many validation shards. */
static void fill(struct wl_imagenet_synth_opts *o)
{
    if (o->val_images == 0) o->val_images = o->images / 5 > o->classes ? o->images / 5 : o->classes;
    if (o->threads == 0) o->threads = sysconf(_SC_NPROCESSORS_ONLN);
    if (o->shards == 0) o->shards = o->images < 8 ? o->images : 8;
    o->val_shards = o->shards / 8 > 1 ? o->shards / 8 : 1;
    if (o->val_shards > o->val_images) o->val_shards = o->val_images;
}

static int check(const struct wl_imagenet_synth_opts *o, struct wl_err *e)
{
    if (o->classes < 2 || o->classes > 1000)
        return wl_fail(e, WL_EINVAL, "%lld classes; expected 2 to 1000", (long long)o->classes);
    if (o->images < o->classes || o->val_images < o->classes)
        return wl_fail(
            e, WL_EINVAL,
            "%lld training and %lld validation images for %lld classes; expected at least one per class in each",
            (long long)o->images, (long long)o->val_images, (long long)o->classes);
    if (o->size < 8 || o->size > 4096)
        return wl_fail(e, WL_EINVAL, "size %lld; expected 8 to 4096", (long long)o->size);
    if (o->tfrecord && (o->shards < 1 || o->shards > o->images || o->shards > 99999))
        return wl_fail(e, WL_EINVAL, "%lld shards; expected 1 to %lld, with at least one image each",
                       (long long)o->shards, (long long)(o->images < 99999 ? o->images : 99999));
    return 0;
}

int wl_imagenet_synth(const struct wl_imagenet_synth_opts *opts, bool progress, int64_t *written, struct wl_arena *a,
                      struct wl_err *e)
{
    struct wl_imagenet_synth_opts o = *opts;
    const char *settings;
    bool complete;
    int rc;
    *written = 0;
    fill(&o);
    if ((rc = check(&o, e)) != 0) return rc;
    settings = settings_text(&o, a);
    if ((rc = wl_manifest_begin(o.dir, settings, &complete, a, e)) != 0 || complete) return rc;
    if ((rc = wl_imagenet_synth_prepare(&o, a, e)) != 0) return rc;
    struct job job = { .o = &o, .total = o.images + o.val_images };
    if ((rc = run_threads(&job, o.threads, progress, a, e)) != 0) return rc;
    *written = job.total;
    return wl_manifest_end(o.dir, settings, a, e);
}
