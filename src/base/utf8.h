/* UTF-8: length, decoding, validity. */
#ifndef WL_BASE_UTF8_H
#define WL_BASE_UTF8_H

#include "base/arena.h"

/* Length in bytes of the UTF-8 character at s; 0 at the final NUL and for invalid bytes (RFC 3629: no overlong forms,
 * no surrogates). */
size_t wl_utf8_length(const char *s);

/* The code point of one valid UTF-8 character of `length` bytes. */
uint32_t wl_utf8_decode(const char *s, size_t length);

/* Columns that n bytes take on a terminal: two for wide characters (CJK, emoji), none for combining ones. A byte that
 * is not part of a character takes one. */
size_t wl_utf8_columns(const char *s, size_t n);

/* The text itself if it is valid UTF-8, else a copy with each invalid byte written as \xNN (lower case; backslashes of
 * the text are not escaped). */
const char *wl_utf8_sanitize(struct wl_arena *a, const char *s);

#endif
