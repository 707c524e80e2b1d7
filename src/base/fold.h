/* Folds lines at words to the width of a terminal, as they are printed piece by piece.
 *
 * Continuation lines begin below the text after the line's label, so that a value is read as one block:
 *
 *     power law? not rejected: the exponent changes by less
 *                than the margin
 *
 * A label ends at the last gap of two blanks or more. An indented line without one follows the lines above if a word
 * begins in their column ("power law? " fills its label), else it is indented by two. Lines within the width are not
 * changed. A word longer than a line is not broken: paths and commands can be copied. A number and its " %" are one
 * word. */
#ifndef WL_BASE_FOLD_H
#define WL_BASE_FOLD_H

#include <stdbool.h>
#include <stddef.h>

/* The state of a stream; all zero at its beginning, but for what the caller chooses. */
struct wl_fold {
    bool flush_left; /* lines without a label go on at their own indent: paragraphs of our own text */
    size_t column;   /* printed so far in this line */
    size_t blanks;   /* before the word */
    size_t indent;   /* of the line */
    size_t hang;     /* column of continuation lines; 0: no label yet */
    size_t above;    /* hang of the line above */
    size_t after;    /* blanks since the word, which is complete unless "%" follows the first */
    bool started;    /* the line has a word */
    size_t n;        /* bytes of the word */
    char word[512];
};

typedef void wl_fold_put(void *to, const char *s, size_t n);

/* Adds a piece of UTF-8 text, "\n" between lines, and puts what is complete. SGR sequences (colours) take no columns.
 */
void wl_fold_add(struct wl_fold *f, const char *s, size_t n, size_t width, wl_fold_put *put, void *to);

/* Puts the last word of what was added. */
void wl_fold_flush(struct wl_fold *f, size_t width, wl_fold_put *put, void *to);

#endif
