#include "serve/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 256, LARGEST = 1 << 20, MOST_BYTES = 32 << 20 };

struct entry {
    char *target; /* NULL: unused; `etag` and `body` follow it in the same memory */
    const char *etag, *body;
    const char *type; /* static */
    size_t n_body;
    uint64_t used;
};

struct wl_answer_cache {
    pthread_mutex_t lock;
    struct entry v[ENTRIES];
    size_t bytes;
    uint64_t clock;
};

static void release(void *cache)
{
    struct wl_answer_cache *c = cache;
    for (size_t i = 0; i < ENTRIES; i++) free(c->v[i].target);
    pthread_mutex_destroy(&c->lock);
}

struct wl_answer_cache *wl_answer_cache_new(struct wl_arena *a)
{
    struct wl_answer_cache *c = wl_new(a, struct wl_answer_cache);
    pthread_mutex_init(&c->lock, NULL);
    wl_defer(a, release, c);
    return c;
}

/* The lock is held. */
static struct entry *find(struct wl_answer_cache *c, const char *target)
{
    for (size_t i = 0; i < ENTRIES; i++)
        if (c->v[i].target && strcmp(c->v[i].target, target) == 0) return &c->v[i];
    return NULL;
}

bool wl_answer_cache_get(struct wl_answer_cache *c, const char *target, const char *etag, struct wl_http_answer *out,
                         struct wl_arena *a)
{
    pthread_mutex_lock(&c->lock);
    struct entry *found = find(c, target);
    const bool hit = found && strcmp(found->etag, etag) == 0;
    if (hit) {
        found->used = ++c->clock;
        *out = (struct wl_http_answer) { .status = 200,
                                         .type = found->type,
                                         .body = wl_strndup(a, found->body, found->n_body),
                                         .n_body = found->n_body,
                                         .etag = wl_strdup(a, etag) };
    }
    pthread_mutex_unlock(&c->lock);
    return hit;
}

/* The lock is held. */
static void drop(struct wl_answer_cache *c, struct entry *e)
{
    if (!e->target) return;
    c->bytes -= e->n_body;
    free(e->target);
    *e = (struct entry) { 0 };
}

/* An unused entry, or the one whose last use is longest ago. The lock is held. */
static struct entry *oldest(struct wl_answer_cache *c, bool used)
{
    struct entry *out = NULL;
    for (size_t i = 0; i < ENTRIES; i++) {
        struct entry *e = &c->v[i];
        if (!e->target && !used) return e;
        if (e->target && (!out || e->used < out->used)) out = e;
    }
    return out;
}

void wl_answer_cache_put(struct wl_answer_cache *c, const char *target, const struct wl_http_answer *answer)
{
    const size_t n_target = strlen(target) + 1, n_etag = strlen(answer->etag) + 1;
    if (answer->n_body > LARGEST) return;
    char *memory = malloc(n_target + n_etag + answer->n_body);
    if (!memory) return;
    memcpy(memory, target, n_target);
    memcpy(memory + n_target, answer->etag, n_etag);
    memcpy(memory + n_target + n_etag, answer->body, answer->n_body);
    pthread_mutex_lock(&c->lock);
    struct entry *e = find(c, target);
    if (!e) e = oldest(c, false);
    drop(c, e);
    while (c->bytes + answer->n_body > MOST_BYTES) drop(c, oldest(c, true));
    *e = (struct entry) { .target = memory,
                          .etag = memory + n_target,
                          .body = memory + n_target + n_etag,
                          .type = answer->type,
                          .n_body = answer->n_body,
                          .used = ++c->clock };
    c->bytes += answer->n_body;
    pthread_mutex_unlock(&c->lock);
}
