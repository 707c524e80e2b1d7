/* Each thread counts separately; then the counts are merged. */
#include "data/text/word_counts.h"

#include "data/text/blocks.h"
#include "data/text/pretokenize.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(const uint32_t *c, uint32_t n)
{
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++) h = (h ^ c[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
    return (uint32_t)(h >> 16);
}

static size_t slot_of(const struct wl_word_counts *l, const uint32_t *c, uint32_t n, uint32_t hash)
{
    size_t mask = l->n_slots - 1, at = hash & mask;
    for (; l->slots[at]; at = (at + 1) & mask) {
        const struct wl_word_count *x = &l->words[l->slots[at] - 1];
        if (x->hash == hash && x->n == n && memcmp(x->c, c, n * sizeof *c) == 0) break;
    }
    return at;
}

static void word_counts_rehash(struct wl_word_counts *l)
{
    l->n_slots = l->n_slots ? 2 * l->n_slots : 1 << 10;
    l->slots = wl_new_array(l->arena, uint32_t, l->n_slots);
    for (size_t i = 0; i < l->n; i++) {
        size_t at = l->words[i].hash & (l->n_slots - 1);
        while (l->slots[at]) at = (at + 1) & (l->n_slots - 1);
        l->slots[at] = (uint32_t)i + 1;
    }
}

void wl_word_counts_add(struct wl_word_counts *l, const uint32_t *c, uint32_t n, int64_t count)
{
    if (2 * (l->n + 1) > l->n_slots) word_counts_rehash(l);
    uint32_t hash = hash_of(c, n);
    size_t at = slot_of(l, c, n, hash);
    if (!l->slots[at]) {
        uint32_t *own = wl_new_array(l->arena, uint32_t, n);
        memcpy(own, c, n * sizeof *c);
        WL_GROW(l->arena, l->words, l->n, l->cap);
        l->words[l->n++] = (struct wl_word_count) { .c = own, .n = n, .hash = hash };
        l->slots[at] = (uint32_t)l->n;
    }
    l->words[l->slots[at] - 1].count += count;
}

static int by_characters(const void *x, const void *y)
{
    const struct wl_word_count *a = x, *b = y;
    for (uint32_t i = 0; i < a->n && i < b->n; i++)
        if (a->c[i] != b->c[i]) return a->c[i] < b->c[i] ? -1 : 1;
    return (a->n > b->n) - (a->n < b->n);
}

static int count_block(void *data, size_t slot, int64_t thread, const char *text, size_t n, struct wl_err *e)
{
    struct wl_word_counts *l = (struct wl_word_counts *)data + thread;
    struct wl_pretokenizer w = { .p = (const uint8_t *)text, .end = (const uint8_t *)text + n };
    (void)slot, (void)e;
    while (wl_pretokenizer_next(&w))
        if (w.special < 0 && w.n <= WL_WORD_MAX) wl_word_counts_add(l, w.c, (uint32_t)w.n, 1);
    return 0;
}

int wl_word_counts_read(struct wl_word_counts *l, struct wl_text_files *texts, int64_t threads, const char *progress,
                        struct wl_arena *a, struct wl_err *e)
{
    struct wl_arena *own = wl_arena_new(a);
    struct wl_word_counts *each = wl_new_array(own, struct wl_word_counts, (size_t)threads);
    for (int64_t i = 0; i < threads; i++) each[i].arena = wl_arena_new(own);
    struct wl_text_blocks blocks = { .texts = texts,
                                     .unit = WL_TEXT_UNIT_LINE,
                                     .threads = threads,
                                     .progress_label = progress,
                                     .data = each,
                                     .process = count_block };
    int rc = wl_text_blocks_run(&blocks, own, e);
    *l = (struct wl_word_counts) { .arena = a };
    for (int64_t i = 0; !rc && i < threads; i++)
        for (size_t k = 0; k < each[i].n; k++)
            wl_word_counts_add(l, each[i].words[k].c, each[i].words[k].n, each[i].words[k].count);
    if (l->n) qsort(l->words, l->n, sizeof *l->words, by_characters);
    wl_arena_free(own);
    return rc;
}
