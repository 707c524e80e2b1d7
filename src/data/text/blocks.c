/* The calling thread reads blocks into a ring of slots and collects their results, oldest first; the threads process
 * those in between. One lock guards the counters, which say who owns a slot. */
#include "data/text/blocks.h"

#include "data/byte_buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, BINARY_CHECK = 4096 /* bytes searched for a NUL */ };

struct slot {
    struct wl_byte_buffer text;
    bool done;
    int rc;
    struct wl_err why;
};

struct worker {
    struct run *run;
    int64_t index;
    pthread_t thread;
};

/* The position in the texts. */
struct reader {
    size_t file;                /* the one in progress, or the next */
    int fd;                     /* -1: none is open */
    bool begun;                 /* a block of this file was returned */
    struct wl_byte_buffer rest; /* the incomplete unit at the end of the last read */
    double bytes;               /* read so far */
};

struct run {
    const struct wl_text_blocks *b;
    struct reader reader;
    struct slot *slot; /* [slots] */
    size_t slots;
    struct worker *worker; /* [started] */
    int64_t started;

    pthread_mutex_t lock;
    pthread_cond_t work, done;
    int64_t read, begun, taken; /* blocks, each counted from the first: taken <= begun <= read */
    bool stop;
};

size_t wl_text_blocks_slots(int64_t threads) { return 2 * (size_t)threads + 1; }

/* ---- the reader ------------------------------------------------------------------------------------------------- */

/* Appends up to n bytes; fewer only at the end of the file. */
static int read_more(struct wl_byte_buffer *b, int fd, size_t n, const char *path, struct wl_err *e)
{
    int rc = wl_byte_buffer_grow(b, n, path, e);
    while (!rc && n > 0) {
        ssize_t got = read(fd, b->p + b->n, n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return wl_fail_errno(e, "reading %s", path);
        if (got == 0) break;
        b->n += (size_t)got;
        n -= (size_t)got;
    }
    return rc;
}

/* Bytes up to the last boundary between two units; 0: there is none. */
static size_t complete_units_length(enum wl_text_unit unit, const char *p, size_t n)
{
    size_t at = 0, length;
    while ((length = wl_text_unit_length(unit, p + at, n - at)) < n - at) at += length;
    return at;
}

static int next_file(struct run *r, struct wl_err *e)
{
    const char *path = r->b->texts->path.v[r->reader.file];
    r->reader.begun = false;
    r->reader.rest.n = 0;
    r->reader.fd = open(path, O_RDONLY | O_CLOEXEC);
    return r->reader.fd < 0 ? wl_fail_errno(e, "the text %s", path) : 0;
}

static void end_file(struct reader *reader)
{
    if (reader->fd >= 0) close(reader->fd);
    reader->fd = -1;
    reader->file++;
}

/* The next block of the open file; *last: it is the last one. */
static int read_units(struct run *r, struct wl_byte_buffer *text, bool *last, struct wl_err *e)
{
    struct reader *reader = &r->reader;
    const char *path = r->b->texts->path.v[reader->file];
    size_t whole = 0, want = BLOCK;
    text->n = 0;
    int rc = wl_byte_buffer_grow(text, reader->rest.n + 1, path, e);
    if (rc) return rc;
    memcpy(text->p, reader->rest.p ? reader->rest.p : text->p, reader->rest.n);
    text->n = reader->rest.n;
    for (*last = false; !whole; want = text->n) {
        size_t before = text->n;
        rc = read_more(text, reader->fd, want, path, e);
        if (rc) return rc;
        reader->bytes += (double)(text->n - before);
        *last = text->n < before + want;
        whole = *last ? text->n : complete_units_length(r->b->unit, (const char *)text->p, text->n);
        if (*last) break;
    }
    reader->rest.n = 0;
    rc = wl_byte_buffer_grow(&reader->rest, text->n - whole + 1, path, e);
    if (rc) return rc;
    reader->rest.n = text->n - whole;
    memcpy(reader->rest.p, text->p + whole, reader->rest.n);
    text->n = whole;
    return 0;
}

/* Is it the beginning of a file in a folder, and not text? */
static bool is_binary(const struct run *r, const struct wl_byte_buffer *text)
{
    if (r->reader.begun || !r->b->texts->in_folder.v[r->reader.file][0]) return false;
    return memchr(text->p, '\0', text->n < BINARY_CHECK ? text->n : BINARY_CHECK) != NULL;
}

/* Fills a slot: returns 1, or 0 at the end of all texts. */
static int read_block(struct run *r, struct wl_byte_buffer *text, struct wl_err *e)
{
    struct reader *reader = &r->reader;
    while (reader->file < r->b->texts->path.n) {
        bool last;
        int rc = reader->fd < 0 ? next_file(r, e) : 0;
        if (!rc) rc = read_units(r, text, &last, e);
        if (rc) return rc;
        bool skip = is_binary(r, text);
        r->b->texts->skipped += skip;
        reader->begun = true;
        if (last || skip) end_file(reader);
        if (!skip && text->n > 0) return 1;
    }
    return 0;
}

/* ---- the workers ------------------------------------------------------------------------------------------------ */

static void *worker_main(void *arg)
{
    const struct worker *w = arg;
    struct run *r = w->run;
    pthread_mutex_lock(&r->lock);
    for (;;) {
        while (!r->stop && r->begun == r->read) pthread_cond_wait(&r->work, &r->lock);
        if (r->stop) break;
        size_t i = (size_t)(r->begun++) % r->slots;
        struct slot *s = &r->slot[i];
        pthread_mutex_unlock(&r->lock);
        s->rc = r->b->process(r->b->data, i, w->index, (const char *)s->text.p, s->text.n, &s->why);
        pthread_mutex_lock(&r->lock);
        s->done = true;
        pthread_cond_signal(&r->done);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static int start_workers(struct run *r, struct wl_err *e)
{
    sigset_t all, old;
    int rc = 0;
    sigfillset(&all); /* signals are for the calling thread */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (!rc && r->started < r->b->threads) {
        struct worker *w = &r->worker[r->started];
        *w = (struct worker) { .run = r, .index = r->started };
        rc = pthread_create(&w->thread, NULL, worker_main, w);
        if (!rc) r->started++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc ? wl_fail(e, WL_EIO, "cannot start a thread: %s", strerror(rc)) : 0;
}

/* ---- the calling thread ----------------------------------------------------------------------------------------- */

static int collect_oldest_block(struct run *r, struct wl_err *e)
{
    size_t i = (size_t)r->taken % r->slots;
    struct slot *s = &r->slot[i];
    pthread_mutex_lock(&r->lock);
    while (!s->done) pthread_cond_wait(&r->done, &r->lock);
    pthread_mutex_unlock(&r->lock);
    r->taken++;
    if (s->rc) return wl_fail(e, s->rc, "%s", s->why.msg);
    return r->b->collect ? r->b->collect(r->b->data, i, e) : 0;
}

static int submit_block(struct run *r, struct wl_err *e)
{
    struct slot *s = &r->slot[(size_t)r->read % r->slots];
    int rc = read_block(r, &s->text, e);
    if (rc <= 0) return rc;
    pthread_mutex_lock(&r->lock);
    s->done = false;
    r->read++;
    pthread_cond_signal(&r->work);
    pthread_mutex_unlock(&r->lock);
    return rc;
}

static int run_all(struct run *r, struct wl_err *e)
{
    struct wl_progress bar;
    int rc = start_workers(r, e), given = 1;
    wl_progress_start(&bar, r->b->progress_label);
    while (!rc && given) {
        if (r->read - r->taken == (int64_t)r->slots) rc = collect_oldest_block(r, e);
        if (rc) break;
        given = submit_block(r, e);
        if (given < 0) rc = given;
        if (r->b->progress_label) wl_progress_update(&bar, r->reader.bytes, r->b->texts->bytes, -1, NULL);
    }
    while (!rc && r->taken < r->read) rc = collect_oldest_block(r, e);
    wl_progress_clear(&bar);
    return rc;
}

int wl_text_blocks_run(struct wl_text_blocks *b, struct wl_arena *a, struct wl_err *e)
{
    struct wl_arena *own = wl_arena_new(a);
    struct run r = { .b = b, .slots = wl_text_blocks_slots(b->threads), .reader = { .fd = -1 } };
    r.slot = wl_new_array(own, struct slot, r.slots);
    r.worker = wl_new_array(own, struct worker, (size_t)b->threads);
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.work, NULL);
    pthread_cond_init(&r.done, NULL);
    int rc = run_all(&r, e);
    pthread_mutex_lock(&r.lock);
    r.stop = true;
    pthread_cond_broadcast(&r.work);
    pthread_mutex_unlock(&r.lock);
    for (int64_t i = 0; i < r.started; i++) pthread_join(r.worker[i].thread, NULL);
    pthread_cond_destroy(&r.work);
    pthread_cond_destroy(&r.done);
    pthread_mutex_destroy(&r.lock);
    for (size_t i = 0; i < r.slots; i++) free(r.slot[i].text.p);
    free(r.reader.rest.p);
    if (r.reader.fd >= 0) close(r.reader.fd);
    wl_arena_free(own);
    return rc;
}
