/* Learning a vocabulary, inside: counted words, and merges of them. */
#ifndef WL_DATA_TEXT_WORDPIECE_TRAIN_H
#define WL_DATA_TEXT_WORDPIECE_TRAIN_H

#include "data/text/blocks.h"
#include "data/text/pretokenize.h"

/* Words and how often they stand in a text. */
struct wl_word_counts {
    struct wl_arena *arena;
    struct wl_word_count {
        const uint32_t *c; /* [n] */
        uint32_t n, hash;
        int64_t count;
    } * v; /* [n], in the order in which they were met, or sorted */
    size_t n, cap;
    uint32_t *place; /* [places] open addressing: index + 1 in v, 0: free; places is a power of two */
    size_t places;
};

void wl_word_counts_add(struct wl_word_counts *l, const uint32_t *c, uint32_t n, int64_t count);

/* Counts the words of the texts, without special tokens and words that are too long. Sorted by their characters, so
 * the same for any number of threads. */
int wl_word_counts_read(struct wl_word_counts *l, struct wl_text_files *texts, int64_t threads, const char *progress,
                        struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Learns at most `size` tokens from a lexicon: the special ones, characters, then pieces in the order of their merges.
 * WL_EINVAL: the characters alone are more. */
int wl_wordpiece_train(const struct wl_word_counts *l, size_t size, struct wl_strs *tokens, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

#endif
