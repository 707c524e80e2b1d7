/* Pretokenisation: the words of a text, one after the other, as BERT's BasicTokenizer finds them. */
#ifndef WL_DATA_TEXT_PRETOKENIZE_H
#define WL_DATA_TEXT_PRETOKENIZE_H

#include "data/text/unicode.h"
#include "data/text/vocab.h"

enum { WL_WORD_MAX = 100 /* characters; a longer word is [UNK] */ };

struct wl_pretokenizer {
    const uint8_t *p, *end;           /* the rest of the text; set by the caller */
    struct wl_unicode_folded pending; /* parts of a character that belong to the next words */
    size_t pending_used;              /* of them */

    uint32_t c[WL_WORD_MAX]; /* the word */
    size_t n;                /* its characters; those after WL_WORD_MAX are only counted */
    int special;             /* an enum wl_special_token found in the text; -1: a word */
};

/* The next word; false at the end. */
bool wl_pretokenizer_next(struct wl_pretokenizer *w);

#endif
