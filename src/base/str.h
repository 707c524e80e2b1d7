/* Strings: a growing text, lists of words, numbers from text, the nearest known name. */
#ifndef WL_BASE_STR_H
#define WL_BASE_STR_H

#include "base/arena.h"

/* A text that grows. Start from WL_TEXT(arena); `s` is always terminated and may be read at any time. */
struct wl_text {
    struct wl_arena *arena;
    char *s;
    size_t n, cap;
};
#define WL_TEXT(arena_) ((struct wl_text) { .arena = (arena_), .s = (char *)"" })

void wl_text_add(struct wl_text *t, const char *s);
void wl_text_addn(struct wl_text *t, const char *s, size_t n);
void wl_text_addf(struct wl_text *t, const char *fmt, ...) WL_PRINTF(2, 3);
void wl_text_clear(struct wl_text *t); /* empties the text; keeps its memory */

/* A list of strings. */
struct wl_strs {
    char **v;
    size_t n, cap;
};
void wl_strs_add(struct wl_arena *a, struct wl_strs *list, const char *s);
void wl_strs_addf(struct wl_arena *a, struct wl_strs *list, const char *fmt, ...) WL_PRINTF(3, 4);

/* Splits at `sep` and strips white space; empty text gives an empty list. "a, b" -> a|b */
/* The last line of a text with a character that is not a blank, without blanks around it; NULL: there is none. A
 * carriage return ends a line, too: progress bars draw over theirs. */
const char *wl_str_last_line(struct wl_arena *a, const char *s);

struct wl_strs wl_str_split(struct wl_arena *a, const char *s, char sep);

/* A copy without white space at both ends. */
char *wl_str_strip(struct wl_arena *a, const char *s);

bool wl_str_eq(const char *a, const char *b); /* both NULL counts as equal */
bool wl_str_starts(const char *s, const char *prefix);

/* The whole text is one number, in the C locale, else -1 (also: empty, trailing text, out of range, nan, hexadecimal).
 */
int wl_str_to_int(const char *s, int64_t *out);
int wl_str_to_real(const char *s, double *out);

/* A duration in seconds: "10", "10s", "200ms", "5us", "3m", "2h". */
int wl_str_to_duration(const char *s, double *seconds);

/* The name that was probably meant: the only one that begins with the word (at least three letters), else the nearest
 * (edit distance with transpositions, at most a third of the length), or NULL. */
const char *wl_str_closest(const char *word, const char *const *names, size_t n);

/* Human-readable: 1.23 kJ, 12.3 µs, 4.0 GB, 2m05s. `unit` follows the prefix. NAN gives "-". */
char *wl_human(struct wl_arena *a, double value, const char *unit);
char *wl_human_time(struct wl_arena *a, double seconds);
char *wl_human_bytes(struct wl_arena *a, double bytes);

#endif
