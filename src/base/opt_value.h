/* One row of an option table and the field that it names: text to value and back. For the files of opt.h. */
#ifndef WL_BASE_OPT_VALUE_H
#define WL_BASE_OPT_VALUE_H

#include "base/opt.h"

/* Sets the field of *out from text; `more` appends to a list of strings instead of replacing it. False: the text is
 * not such a value, or out of range. */
bool wl_opt_set(const struct wl_opt *o, void *out, const char *s, bool more, struct wl_arena *a);

/* Sets the field of *out to the value without a default: 0, false, NAN, NULL or the empty list. */
void wl_opt_clear(const struct wl_opt *o, void *out);

/* The value in *in as INI text; NULL: unset. */
const char *wl_opt_text(const struct wl_opt *o, const void *in, struct wl_arena *a);

/* "a whole number from 1 to 64 (W)" */
const char *wl_opt_expected(const struct wl_opt *o, struct wl_arena *a);

bool wl_opt_has_range(const struct wl_opt *o); /* has a minimum or maximum */

/* The error for an unknown name, with "did you mean" and the closest one. The message begins with `where`; `dashes` is
 * "--" on a command line and "" in a file, where names have underscores. */
int wl_opt_unknown(const struct wl_opt *rows, const char *name, const char *where, const char *dashes, int code,
                   struct wl_err *e);

size_t wl_opts_count(const struct wl_opt *rows);

#endif
