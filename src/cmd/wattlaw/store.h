/* Shared by the commands that read a store. */
#ifndef WL_CMD_WATTLAW_STORE_H
#define WL_CMD_WATTLAW_STORE_H

#include "cmd/cmd.h"
#include "store/read.h"

/* Opens the STORE argument (a file or a campaign's folder) for reading; without one, wattlaw.db in the current folder.
 * WL_EUSAGE if there is neither. */
int wl_cmd_store_open(const struct wl_opts_args *rest, struct wl_store **out, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* The id of the named campaign, 0 for NULL; WL_ENOENT with "did you mean". */
int wl_cmd_campaign_find(struct wl_store *s, const char *name, int64_t *id, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* The settings as members of a JSON object. */
void wl_cmd_settings_json(const struct wl_settings *set, struct wl_json *object);

/* Add the cooldown of a run, and Slurm's energy accounting, to its object, if there are any. */
void wl_cmd_cooldown_json(const struct wl_cooldown *c, struct wl_json *object);
void wl_cmd_slurm_json(const struct wl_slurm_energy *s, struct wl_json *object);

/* Adds what others did on the machine: "load". */
void wl_cmd_load_json(const struct wl_load_row *l, double other_run, struct wl_json *object);

/* The energy and mean power of a run's row, with their provenance. */
struct wl_amount wl_cmd_run_energy(const struct wl_run_row *run);
struct wl_amount wl_cmd_run_power(const struct wl_run_row *run);

/* How a run ended: its error, "killed by signal 9 (Killed)", "exit status 1", or "". */
char *wl_cmd_run_end(const struct wl_run_row *run, struct wl_arena *a);

#endif
