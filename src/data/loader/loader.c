#include "data/loader/loader.h"

#include "data/loader/prefetch.h"

#include <signal.h>
#include <string.h>

enum { RING = 3 };

size_t wl_dataset_batch_bytes(const struct wl_dataset *s, int k, int64_t batch)
{
    return s->ops->write_batch ? s->bytes[k] : s->bytes[k] * (size_t)batch;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static void feed_release(void *what)
{
    struct wl_loader *f = what;
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    pthread_cond_broadcast(&f->not_full);
    pthread_mutex_unlock(&f->lock);
    for (int64_t i = 0; i < f->started; i++) pthread_join(f->threads[i].id, NULL);
    pthread_cond_destroy(&f->not_full);
    pthread_cond_destroy(&f->ready);
    pthread_mutex_destroy(&f->lock);
}

static void check_args(const struct wl_dataset *s, const struct wl_loader_opts *o)
{
    WL_CHECK(o->batch > 0 && o->ranks > 0 && o->rank >= 0 && o->rank < o->ranks && o->threads >= 0 && o->ring >= 0);
    WL_CHECK(s->buffers > 0 && s->buffers <= WL_DATASET_MAX_BUFFERS);
    WL_CHECK(s->ops->write_batch ? !s->ops->write_sample && !o->skip_bad : s->ops->write_sample && s->ops->pad);
}

static int check_size(const struct wl_loader *f, struct wl_err *e)
{
    const struct wl_loader_opts *o = &f->o;
    long long samples = (long long)f->set->samples, global = (long long)(o->batch * o->ranks);
    if (samples > UINT32_MAX) return wl_fail(e, WL_EINVAL, "%s: more than 2^32 %ss", f->set->name, f->set->ops->noun);
    if (!o->drop_last || samples >= global) return 0;
    return wl_fail(e, WL_EINVAL,
                   "%s: %lld samples, fewer than one global batch of %lld (%lld worker%s x local batch %lld)",
                   f->set->name, samples, global, (long long)o->ranks, o->ranks == 1 ? "" : "s", (long long)o->batch);
}

static int allocate_slots(struct wl_loader *f, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_dataset *s = f->set;
    size_t batch = (size_t)f->o.batch, units = s->ops->write_batch ? 1 : batch;
    f->ring = wl_new_array(a, struct wl_loader_slot, (size_t)f->o.ring);
    for (int64_t i = 0; i < f->o.ring; i++) {
        struct wl_loader_slot *slot = &f->ring[i];
        slot->index = wl_new_array(a, int64_t, batch);
        slot->good = wl_new_array(a, bool, batch);
        for (int k = 0; k < s->buffers; k++) {
            slot->buffer[k] = wl_try_alloc(a, units * s->bytes[k], 64, "prefetched batches", e);
            if (!slot->buffer[k]) return WL_ENOMEM;
        }
    }
    return 0;
}

static int make_threads(struct wl_loader *f, struct wl_arena *a, struct wl_err *e)
{
    int64_t n = f->o.threads ? f->o.threads : 1; /* without threads the consumer makes the batches */
    f->threads = wl_new_array(a, struct wl_loader_thread, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        struct wl_loader_thread *t = &f->threads[i];
        t->feed = f;
        int rc = f->set->ops->open_thread ? f->set->ops->open_thread(f->set, &t->data, a, e) : 0;
        if (rc != 0) return rc;
    }
    return 0;
}

/* The threads block all signals: these are for the thread that runs the training. */
static int start_threads(struct wl_loader *f, struct wl_err *e)
{
    sigset_t all, old;
    int rc = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (rc == 0 && f->started < f->o.threads) {
        struct wl_loader_thread *t = &f->threads[f->started];
        rc = pthread_create(&t->id, NULL, wl_loader_prefetch, t);
        if (rc == 0) f->started++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc == 0 ? 0 : wl_fail(e, WL_EIO, "cannot start a loader thread: %s", strerror(rc));
}

int wl_loader_open(struct wl_loader **out, const struct wl_dataset *set, const struct wl_loader_opts *opts,
                   struct wl_arena *a, struct wl_err *e)
{
    struct wl_loader *f = wl_new(a, struct wl_loader);
    int rc;
    check_args(set, opts);
    f->o = *opts;
    if (f->o.ring == 0) f->o.ring = RING;
    f->set = set;
    f->key = (struct wl_epoch_key) { .seed = opts->seed, .training = opts->training };
    if ((rc = check_size(f, e)) != 0) return rc;
    f->partition = (struct wl_partition) { .samples = set->samples,
                                           .batch = f->o.batch,
                                           .ranks = f->o.ranks,
                                           .rank = f->o.rank,
                                           .drop_last = f->o.drop_last };
    f->order = wl_new_array(a, uint32_t, (size_t)set->samples);
    f->bad_seen = wl_new_array(a, bool, (size_t)set->samples);
    if ((rc = allocate_slots(f, a, e)) != 0) return rc;
    if ((rc = make_threads(f, a, e)) != 0) return rc;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->not_full, NULL);
    pthread_cond_init(&f->ready, NULL);
    wl_defer(a, feed_release, f); /* releases run newest first: the threads end before what they use */
    *out = f;
    return start_threads(f, e);
}

int64_t wl_loader_batches(const struct wl_loader *f) { return wl_partition_steps(&f->partition); }

int64_t wl_loader_input_wait_ns(const struct wl_loader *f) { return f->waited_ns; }

int64_t wl_loader_bad_samples(struct wl_loader *f)
{
    pthread_mutex_lock(&f->lock);
    int64_t bad = f->bad;
    pthread_mutex_unlock(&f->lock);
    return bad;
}

/* ---- the consumer ------------------------------------------------------------------------------------------------ */

int wl_loader_start_epoch(struct wl_loader *f, int64_t epoch, int64_t first_batch, struct wl_err *e)
{
    if (epoch < 0 || epoch >= 1 << 24) return wl_fail(e, WL_EINVAL, "epoch %lld is out of range", (long long)epoch);
    pthread_mutex_lock(&f->lock);
    f->steps = 0; /* no more items */
    while (f->in_flight) pthread_cond_wait(&f->ready, &f->lock);
    f->key.epoch = epoch;
    if (f->o.training)
        wl_partition_shuffle(f->order, f->set->samples, f->o.seed, epoch);
    else
        for (int64_t i = 0; i < f->set->samples; i++) f->order[i] = (uint32_t)i;
    f->item = 0;
    f->step = f->consumed = first_batch;
    f->steps = wl_partition_steps(&f->partition);
    pthread_cond_broadcast(&f->not_full);
    pthread_mutex_unlock(&f->lock);
    return 0;
}

static void *sample_at(const struct wl_dataset *s, void *const *buffer, int k, int64_t i)
{
    return (char *)buffer[k] + (size_t)i * s->bytes[k];
}

/* Copies the good ones of the first `count` samples to the inputs, and pads the rest; returns how many. slot NULL:
 * none. */
static int64_t copy_good_samples(const struct wl_loader *f, const struct wl_loader_slot *slot, int64_t count,
                                 void *const *inputs)
{
    const struct wl_dataset *s = f->set;
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!slot->good[i]) continue;
        for (int k = 0; k < s->buffers; k++)
            memcpy(sample_at(s, inputs, k, n), sample_at(s, slot->buffer, k, i), s->bytes[k]);
        n++;
    }
    for (int64_t i = n; i < f->o.batch; i++) {
        void *to[WL_DATASET_MAX_BUFFERS];
        for (int k = 0; k < s->buffers; k++) to[k] = sample_at(s, inputs, k, i);
        s->ops->pad(s, to);
    }
    return n;
}

static int64_t copy_to_inputs(const struct wl_loader *f, const struct wl_loader_slot *slot, int64_t count,
                              void *const *inputs)
{
    if (f->set->ops->write_sample) return copy_good_samples(f, slot, count, inputs);
    for (int k = 0; k < f->set->buffers; k++)
        memcpy(inputs[k], slot->buffer[k], wl_dataset_batch_bytes(f->set, k, f->o.batch));
    return count;
}

int wl_loader_next(struct wl_loader *f, void *const *inputs, int64_t *n, struct wl_err *e)
{
    int64_t from, count;
    *n = 0;
    if (f->consumed >= f->steps) return 0; /* both change only in calls by this thread */
    struct wl_loader_slot *slot = wl_loader_slot_at(f, f->consumed);
    count = wl_partition_range(&f->partition, f->consumed, &from);
    if (count > 0) {
        pthread_mutex_lock(&f->lock);
        wl_loader_wait_batch(f);
        pthread_mutex_unlock(&f->lock);
        if (slot->first_bad < f->o.batch) return wl_fail(e, slot->error.code, "%s", slot->error.msg);
        *n = copy_to_inputs(f, slot, count, inputs);
    }
    pthread_mutex_lock(&f->lock);
    f->consumed++;
    pthread_cond_broadcast(&f->not_full);
    pthread_mutex_unlock(&f->lock);
    return 1;
}
