/* Training of WordPiece vocabularies. */
#ifndef WL_DATA_TEXT_WORDPIECE_TRAIN_H
#define WL_DATA_TEXT_WORDPIECE_TRAIN_H

#include "data/text/word_counts.h"

/* Trains at most `size` tokens from word counts: the special tokens, characters, then pieces in the order of their
 * merges. WL_EINVAL: there are more characters than that. */
int wl_wordpiece_train(const struct wl_word_counts *l, size_t size, struct wl_strs *tokens, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

#endif
