/* Requests to a campaign from the terminal: pause, resume, retry, and cancel of runs that are not jobs. */
#ifndef WL_CMD_WATTLAW_CONTROL_H
#define WL_CMD_WATTLAW_CONTROL_H

#include "base/base.h"
#include "store/store.h"

/* The numbers of runs among words, from word `first` on. WL_EUSAGE names one that is not. */
int wl_cmd_run_numbers(const struct wl_strs *words, size_t first, struct wl_ints *runs, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* Asks for the action on each of the runs (none: on the campaign) of the store in `given`, in the name of this user,
 * and prints what happens now. campaign NULL: the only one, or that of the runs. The first failure ends it. */
int wl_cmd_control(enum wl_control_action action, const char *given, const char *campaign, const struct wl_ints *runs,
                   bool json, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* "lab@n1": who asks, as it is stored. */
const char *wl_cmd_user(struct wl_arena *a);

#endif
