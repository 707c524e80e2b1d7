/* The windows and runs of a search that its store has. */
#ifndef WL_TUNE_STORED_H
#define WL_TUNE_STORED_H

#include "tune/session.h"

/* Adds those of t->opts->name in t->store to t->windows, and sets t->steps and t->reference_s. WL_EINVAL: they are of
 * another command. What failed, is flagged, is of another host or has another value than the candidates is left out. */
int wl_tune_load(struct wl_tune *t, const char *command, struct wl_err *e) WL_MUST_CHECK;

#endif
