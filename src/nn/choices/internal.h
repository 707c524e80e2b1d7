#ifndef WL_NN_CHOICES_INTERNAL_H
#define WL_NN_CHOICES_INTERNAL_H

#include "nn/choices/choices.h"

/* Copies x, whose question the table does not have. */
void wl_choices_append(struct wl_choices *c, const struct wl_choice *x);

/* The table as text, one line per choice. Parsing adds to the table: known questions keep their answers.
 * WL_EINVAL: "WHERE:LINE: what is wrong"; then the table is unchanged. */
char *wl_choices_text(const struct wl_choices *c, struct wl_arena *a);
int wl_choices_parse(struct wl_choices *c, const char *text, const char *where, struct wl_err *e) WL_MUST_CHECK;

#endif
