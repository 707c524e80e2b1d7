/* The two halves of `wattlaw show`: tables of runs (show.c) and one run in full (show_run.c). */
#ifndef WL_CMD_SHOW_H
#define WL_CMD_SHOW_H

#include "cmd/stores.h"

/* A run as members of an object: settings, status, times, totals, sampling. */
void wl_show_run_json(struct wl_json *object, const struct wl_run_row *run, struct wl_arena *a);

/* One run with its energy, epochs, devices and sampling quality. WL_ENOENT when there is no such run. */
int wl_show_run(struct wl_store *s, int64_t run, bool json, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
