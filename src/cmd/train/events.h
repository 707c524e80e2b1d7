/* Progress bars, log lines and signals of a training. */
#ifndef WL_CMD_TRAIN_EVENTS_H
#define WL_CMD_TRAIN_EVENTS_H

#include "train/train.h"

/* The state of the progress bar. */
struct wl_cmd_train_progress {
    struct wl_progress bar;
    char label[64];
    bool active;
};

/* Takes a struct wl_cmd_train_progress as data. `quiet`: only signals are looked at. */
const struct wl_train_events *wl_cmd_train_events(bool quiet);

/* The file of autotuning results in the user's cache folder; NULL: neither XDG_CACHE_HOME nor HOME is set. */
const char *wl_cmd_train_autotune_cache(struct wl_arena *a);

#endif
