#include "data/loader/prefetch.h"

struct wl_loader_slot *wl_loader_slot_at(struct wl_loader *f, int64_t step) { return &f->ring[step % f->o.ring]; }

/* An item as its thread sees it. */
struct item {
    struct wl_loader_slot *slot;
    int64_t position, n; /* samples index[position .. position + n) of the slot */
};

/* ---- making an item ---------------------------------------------------------------------------------------------- */

/* Without skip_bad a bad sample ends the training. */
static int bad_sample(const struct wl_dataset_ops *ops, struct wl_err *e)
{
    const struct wl_err why = *e;
    return ops->bad_sample_hint ? wl_fail(e, why.code, "%s; %s", why.msg, ops->bad_sample_hint) : why.code;
}

static void note_bad(struct wl_loader *f, int64_t sample, const struct wl_err *why)
{
    pthread_mutex_lock(&f->lock);
    bool first = !f->bad_seen[sample];
    f->bad_seen[sample] = true;
    f->bad += first;
    pthread_mutex_unlock(&f->lock);
    if (first) wl_log(WL_WARN, "data", "skipped: %s", why->msg);
}

/* Writes one sample of a batch. In training the next good sample replaces a bad one, so that batches stay full and the
 * result is the same for any number of threads. */
static int write_sample(struct wl_loader_thread *t, const struct item *it, struct wl_err *e)
{
    struct wl_loader *f = t->feed;
    const struct wl_dataset *s = f->set;
    void *at[WL_DATASET_MAX_BUFFERS];
    for (int k = 0; k < s->buffers; k++) at[k] = (char *)it->slot->buffer[k] + (size_t)it->position * s->bytes[k];
    int64_t tries = f->o.skip_bad && f->o.training ? s->samples : 1;
    it->slot->good[it->position] = true;
    for (int64_t i = 0; i < tries; i++) {
        int64_t sample = (it->slot->index[it->position] + i) % s->samples;
        int rc = s->ops->write_sample(s, t->data, &f->key, sample, at, e);
        if (rc == 0 || rc == WL_ENOMEM) return rc;
        if (!f->o.skip_bad) return bad_sample(s->ops, e);
        note_bad(f, sample, e);
    }
    it->slot->good[it->position] = false;
    return f->o.training ? wl_err_prefix(e, "%s: no %s can be read; the last error", s->name, s->ops->noun) : 0;
}

static int make(struct wl_loader_thread *t, const struct item *it, struct wl_err *e)
{
    const struct wl_dataset *s = t->feed->set;
    if (s->ops->write_sample) return write_sample(t, it, e);
    return s->ops->write_batch(s, t->data, &t->feed->key, it->slot->index, it->n, it->slot->buffer, e);
}

/* ---- the queue: all of it under the lock ------------------------------------------------------------------------- */

/* Is there an item to take, and a free slot for it? Steps in which this rank has no sample have no items. */
static bool can_take(struct wl_loader *f)
{
    int64_t from;
    while (f->step < f->steps && wl_partition_range(&f->partition, f->step, &from) == 0) f->step++;
    return f->step < f->steps && f->step < f->consumed + f->o.ring;
}

static struct item take(struct wl_loader *f)
{
    int64_t from, n = wl_partition_range(&f->partition, f->step, &from);
    const bool whole = f->set->ops->write_batch != NULL;
    struct item it = { .slot = wl_loader_slot_at(f, f->step), .position = f->item, .n = whole ? n : 1 };
    if (f->item == 0) {
        for (int64_t i = 0; i < n; i++) it.slot->index[i] = f->order[from + i];
        it.slot->pending = n;
        it.slot->first_bad = f->o.batch;
    }
    f->item += it.n;
    if (f->item == n) {
        f->step++;
        f->item = 0;
    }
    f->in_flight++;
    return it;
}

static void finish(struct wl_loader *f, const struct item *it, int rc, const struct wl_err *why)
{
    if (rc != 0 && it->position < it->slot->first_bad) {
        it->slot->first_bad =
            it->position; /* keep the first error by position, so that the message does not depend on timing */
        it->slot->error = *why;
    }
    it->slot->pending -= it->n;
    f->in_flight--;
    if (it->slot->pending == 0 || f->in_flight == 0) pthread_cond_signal(&f->ready);
}

/* Takes and finishes one item; the lock is held on entry and on return. */
static void work_once(struct wl_loader_thread *t)
{
    struct wl_loader *f = t->feed;
    struct wl_err why = { 0 };
    struct item it = take(f);
    pthread_mutex_unlock(&f->lock);
    int rc = make(t, &it, &why);
    pthread_mutex_lock(&f->lock);
    finish(f, &it, rc, &why);
}

void *wl_loader_prefetch(void *thread)
{
    struct wl_loader_thread *t = thread;
    struct wl_loader *f = t->feed;
    pthread_mutex_lock(&f->lock);
    while (!f->stop) {
        if (can_take(f))
            work_once(t);
        else
            pthread_cond_wait(&f->not_full, &f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

void wl_loader_wait_batch(struct wl_loader *f)
{
    struct wl_loader_slot *slot = wl_loader_slot_at(f, f->consumed);
    int64_t since = 0;
    while (f->step <= f->consumed || slot->pending > 0) {
        if (since == 0) since = wl_now_ns();
        if (f->o.threads > 0)
            pthread_cond_wait(&f->ready, &f->lock);
        else if (can_take(f))
            work_once(&f->threads[0]);
    }
    if (since) f->waited_ns += wl_now_ns() - since;
}
