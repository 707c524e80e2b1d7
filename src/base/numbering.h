/* Numbers for texts, from 0 in the order in which they first appear, in constant time each. */
#ifndef WL_BASE_NUMBERING_H
#define WL_BASE_NUMBERING_H

#include "base/arena.h"

struct wl_numbering {
    const char **text; /* [n], by number */
    size_t n;
    size_t *slot, slots; /* private: an open-addressing table of number + 1 */
};

/* For at most `most` different texts. */
struct wl_numbering wl_numbering_new(size_t most, struct wl_arena *a);

/* The number of the text, which must outlive the numbering: x->n as it was before where the text is new. */
size_t wl_numbering_of(struct wl_numbering *x, const char *text);

#endif
