#include "base/arena.h"

#include "base/print.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16 * 1024, ALIGN = 16 };

struct block {
    struct block *next;
    size_t used, size; /* of data */
    _Alignas(ALIGN) unsigned char data[];
};

/* Deferred releases and children are one list, newest first, so that this order holds across both. */
struct deferred {
    struct deferred *next, *before;
    void (*release)(void *);
    void *what;
};

struct wl_arena {
    struct wl_arena *parent;
    struct deferred *in_parent; /* our entry in the parent's list */
    struct block *blocks;
    struct deferred *deferred;
    struct deferred *spare; /* entries of freed children, to be reused */
};

static _Noreturn void out_of_memory(size_t n)
{
    wl_eprint("wattlaw: out of memory (%zu bytes needed)\n", n);
    abort();
}

static void free_child(void *child)
{
    struct wl_arena *a = child;
    a->in_parent = NULL;
    wl_arena_free(a);
}

struct wl_arena *wl_arena_new(struct wl_arena *parent)
{
    struct wl_arena *a = calloc(1, sizeof *a);
    if (!a) out_of_memory(sizeof *a);
    if (parent) {
        a->parent = parent;
        wl_defer(parent, free_child, a);
        a->in_parent = parent->deferred;
    }
    return a;
}

/* The entry is in the parent's memory and is reused for the next child, so that a loop which makes and frees children
 * needs memory for one only. */
static void forget_child(struct wl_arena *parent, struct deferred *d)
{
    if (d->before)
        d->before->next = d->next;
    else
        parent->deferred = d->next;
    if (d->next) d->next->before = d->before;
    d->next = parent->spare;
    parent->spare = d;
}

void wl_arena_free(struct wl_arena *a)
{
    if (!a) return;
    if (a->in_parent) forget_child(a->parent, a->in_parent);
    while (a->deferred) {
        struct deferred *d = a->deferred;
        a->deferred = d->next; /* first: a release may defer again */
        if (a->deferred) a->deferred->before = NULL;
        d->release(d->what);
    }
    while (a->blocks) {
        struct block *b = a->blocks;
        a->blocks = b->next;
        free(b);
    }
    free(a);
}

/* The next aligned address in b, or NULL if n bytes do not fit there. */
static void *fit(struct block *b, size_t n, size_t align)
{
    uintptr_t at = (uintptr_t)b->data + b->used;
    size_t pad = (size_t)(-at & (align - 1));
    if (pad > b->size - b->used || n > b->size - b->used - pad) return NULL;
    b->used += pad + n;
    return (void *)(at + pad);
}

static void *alloc(struct wl_arena *a, size_t n, size_t align)
{
    WL_CHECK(align && !(align & (align - 1)) && align <= 4096);
    if (n == 0) n = 1;
    void *p = a->blocks ? fit(a->blocks, n, align) : NULL;
    if (p) return p; /* blocks come zeroed and are never reused */
    if (n > SIZE_MAX - sizeof(struct block) - align) return NULL;
    bool own = n + align > BLOCK / 4; /* a large piece gets its own block and does not end the current one */
    size_t size = own ? n + align : BLOCK;
    struct block *b = calloc(1, sizeof *b + size);
    if (!b) return NULL;
    b->size = size;
    if (own && a->blocks) {
        b->next = a->blocks->next;
        a->blocks->next = b;
    } else {
        b->next = a->blocks;
        a->blocks = b;
    }
    return fit(b, n, align);
}

void *wl_alloc(struct wl_arena *a, size_t n)
{
    void *p = alloc(a, n, ALIGN);
    if (!p) out_of_memory(n);
    return p;
}

void *wl_try_alloc(struct wl_arena *a, size_t n, size_t align, const char *what, struct wl_err *e)
{
    void *p = alloc(a, n, align < ALIGN ? ALIGN : align);
    if (!p) wl_fail(e, WL_ENOMEM, "%s: no memory for %zu bytes", what, n);
    return p;
}

void *wl_alloc_array(struct wl_arena *a, size_t count, size_t size)
{
    size_t n;
    if (__builtin_mul_overflow(count, size, &n)) out_of_memory(SIZE_MAX);
    return wl_alloc(a, n);
}

void *wl_grow(struct wl_arena *a, void *old, size_t n, size_t *cap, size_t want, size_t size)
{
    if (want <= *cap) return old;
    size_t to = *cap < 8 ? 8 : *cap * 2;
    if (to < want) to = want;
    void *p = wl_alloc_array(a, to, size);
    if (n) memcpy(p, old, n * size);
    *cap = to;
    return p;
}

void wl_defer(struct wl_arena *a, void (*release)(void *), void *what)
{
    struct deferred *d = a->spare;
    if (d)
        a->spare = d->next;
    else
        d = wl_new(a, struct deferred);
    *d = (struct deferred) { .next = a->deferred, .release = release, .what = what };
    if (d->next) d->next->before = d;
    a->deferred = d;
}

char *wl_strndup(struct wl_arena *a, const char *s, size_t n)
{
    char *p = wl_alloc(a, n + 1);
    if (n) memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *wl_strdup(struct wl_arena *a, const char *s) { return wl_strndup(a, s, strlen(s)); }

char *wl_strfv(struct wl_arena *a, const char *fmt, va_list ap)
{
    char most[200]; /* holds most texts, so that they are formatted once */
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(most, sizeof most, fmt, again);
    va_end(again);
    WL_CHECK(n >= 0);
    if ((size_t)n < sizeof most) return wl_strndup(a, most, (size_t)n);
    char *p = wl_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    return p;
}

char *wl_strf(struct wl_arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *p = wl_strfv(a, fmt, ap);
    va_end(ap);
    return p;
}

/* A list of leaked arenas, so that leak checkers find them referenced. The list has its own memory, as an abandoned
 * thread may be using the arena. */
static struct leaked_arena {
    struct wl_arena *own, *arena;
    struct leaked_arena *next;
} * _Atomic leaked_arenas;

void wl_arena_leak(struct wl_arena *a)
{
    struct wl_arena *own = wl_arena_new(NULL);
    struct leaked_arena *k = wl_new(own, struct leaked_arena);
    *k = (struct leaked_arena) { .own = own, .arena = a, .next = atomic_load(&leaked_arenas) };
    while (!atomic_compare_exchange_weak(&leaked_arenas, &k->next, k)) continue;
}
