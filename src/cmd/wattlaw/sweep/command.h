/* The experiment of `wattlaw sweep --axis KEY=VALUES -- COMMAND`: a grid of settings of one command, without a file. */
#ifndef WL_CMD_WATTLAW_SWEEP_COMMAND_H
#define WL_CMD_WATTLAW_SWEEP_COMMAND_H

#include "campaign/campaign.h"

/* Fills in `out` from axes ("workers=1,2,4"), the expression for lines that report an epoch (NULL: none), the
 * NULL-terminated command with {workers} and other placeholders, and the "section.key=value" texts of --set, which are
 * applied last. The campaign and its folder are named after the script:
 * "train-sweep" of `python3 train.py`. Everything else has the defaults of an experiment file. WL_EUSAGE: an axis is
 * not KEY=VALUES; else the codes and messages of wl_experiment_read. */
int wl_sweep_command_experiment(const struct wl_strs *axes, const char *epoch_regex, char *const *command,
                                const struct wl_strs *sets, struct wl_experiment *out, struct wl_arena *a,
                                struct wl_err *e) WL_MUST_CHECK;

#endif
