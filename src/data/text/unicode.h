/* Unicode normalisation as in BERT. */
#ifndef WL_DATA_TEXT_UNICODE_H
#define WL_DATA_TEXT_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WL_UNICODE_FOLDED_MAX = 4 }; /* characters of the longest canonical decomposition */

/* A normalised character. */
struct wl_unicode_folded {
    uint32_t c[WL_UNICODE_FOLDED_MAX]; /* [n] lower case, decomposed, without accents */
    size_t n;                          /* 0: nothing remains */
    bool space;                        /* separates words */
    bool ideograph;                    /* a word by itself */
};

struct wl_unicode_folded wl_unicode_fold(uint32_t c);

/* ASCII except letters and digits, and category P of Unicode: a word by itself. */
bool wl_unicode_is_punctuation(uint32_t c);

/* The canonical combining class; 0: not a combining mark. */
int wl_unicode_combining_class(uint32_t c);

/* Decodes the character at *p and advances *p. A byte that does not start a character (RFC 3629) is U+FFFD by itself.
 */
uint32_t wl_utf8_next(const uint8_t **p, const uint8_t *end);

/* Writes a character, at most 4 bytes; returns how many. */
size_t wl_utf8_put(char *to, uint32_t c);

#endif
