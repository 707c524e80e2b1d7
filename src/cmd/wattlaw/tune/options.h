/* The options of wattlaw tune. */
#ifndef WL_CMD_WATTLAW_TUNE_OPTIONS_H
#define WL_CMD_WATTLAW_TUNE_OPTIONS_H

#include "tune/tune.h"

struct wl_tune_cmd_options {
    const char *store, *name, *setting, *objective, *slowdown, *history, *target;
    struct wl_reals values;
    struct wl_strs map, set;
    double eta, probability, grace_s;
    int64_t most, batch_step;
    struct wl_tune_pace pace;
    bool apply, relaunch, json, quiet, largest;
    struct wl_cooldown_opts cooldown;
    struct wl_cap_opts cap_opts;
    struct wl_power_opts power;
    struct wl_mark_regex_opts regex;
};

/* Each option that is given has an effect, or is refused (WL_EUSAGE). `given`: names without dashes. */
int wl_tune_cmd_check(const struct wl_tune_cmd_options *o, bool is_file, const struct wl_strs *given,
                      struct wl_err *e) WL_MUST_CHECK;

/* Objective, limit and history. */
int wl_tune_cmd_goal(const struct wl_tune_cmd_options *o, struct wl_tune_goal *goal, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* Searches the axes of an experiment file and prints the result. */
int wl_tune_cmd_file(const struct wl_tune_cmd_options *o, const char *path, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

#endif
