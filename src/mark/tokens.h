/* Tokens of a framework that counts them now and then, in lines without a step, next to a bar of tqdm that has the
 * steps. */
#ifndef WL_MARK_TOKENS_H
#define WL_MARK_TOKENS_H

#include "base/base.h"

/* A line with a count goes to stdout and the bar to stderr, so bars drawn before the line may be read after it. But
 * tqdm removes the bar for a line, with blanks, and draws it anew: that bar has the line's step. */
struct wl_mark_tokens {
    double line, bar;          /* a count without its step, a step without its count; NAN: none */
    int64_t line_ns, bar_ns;   /* when they were read */
    bool cleared;              /* the bar was removed */
    double counted, at_step;   /* the last count with its step; NAN: none yet */
    double first_step, marked; /* of the first mark; tokens that marks have had, those before the first one included */
};

/* No count and no mark yet. */
extern const struct wl_mark_tokens wl_mark_tokens_none;

/* The first mark, which counts nothing. */
void wl_mark_tokens_begin(struct wl_mark_tokens *t, double step);

/* A line that counts all tokens since the start of the training; one of blanks; a bar at `step`. */
void wl_mark_tokens_line(struct wl_mark_tokens *t, int64_t t_ns, double tokens);
void wl_mark_tokens_cleared(struct wl_mark_tokens *t);
void wl_mark_tokens_bar(struct wl_mark_tokens *t, int64_t t_ns, double step);

/* Tokens since the mark before, for one at `step`: steps since the last count have the mean of those before it, and a
 * count puts right what the mean gave. NAN: not known. The second call records that they are marked. */
double wl_mark_tokens_since(struct wl_mark_tokens *t, double step);
double wl_mark_tokens_take(struct wl_mark_tokens *t, double step);

#endif
