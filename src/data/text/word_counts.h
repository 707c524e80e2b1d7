/* Word counts, the input of vocabulary training. */
#ifndef WL_DATA_TEXT_WORD_COUNTS_H
#define WL_DATA_TEXT_WORD_COUNTS_H

#include "data/text/files.h"

struct wl_word_counts {
    struct wl_arena *arena;
    struct wl_word_count {
        const uint32_t *c; /* [n] */
        uint32_t n, hash;
        int64_t count;
    } * words; /* [n], in order of first occurrence, or sorted */
    size_t n, cap;
    uint32_t *slots; /* [n_slots] open addressing: index + 1 in words, 0: free; n_slots is a power of two */
    size_t n_slots;
};

void wl_word_counts_add(struct wl_word_counts *l, const uint32_t *c, uint32_t n, int64_t count);

/* Counts the words of the texts, except special tokens and words that are too long. Sorted by their characters, so the
 * same for any number of threads. */
int wl_word_counts_read(struct wl_word_counts *l, struct wl_text_files *texts, int64_t threads, const char *progress,
                        struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
