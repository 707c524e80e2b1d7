/* What commands that read a store have in common. */
#ifndef WL_CMD_WATTLAW_STORE_H
#define WL_CMD_WATTLAW_STORE_H

#include "cmd/cmd.h"
#include "store/store.h"

/* Opens the one STORE (a file, or a campaign's folder) of a command line for reading; without one, the wattlaw.db of
 * this folder. WL_EUSAGE where there is neither. */
int wl_cmd_store_open(const struct wl_opts_args *rest, struct wl_store **out, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* The campaign of that name, 0 for NULL; WL_ENOENT with "did you mean". */
int wl_cmd_campaign_find(struct wl_store *s, const char *name, int64_t *id, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* The settings of a run as named values, in the order of the observation table, `extra` spread out. Unset ones are
 * left out. Numbers are texts of "%.15g". */
struct wl_cmd_setting {
    const char *name, *value;
    bool number;
};
struct wl_cmd_settings {
    struct wl_cmd_setting *v;
    size_t n, cap;
};
struct wl_cmd_settings wl_cmd_settings(const struct wl_settings *set, struct wl_arena *a);

/* "resnet50 workers=2 local_batch=16", and the same as members of an object. */
char *wl_cmd_settings_text(const struct wl_settings *set, struct wl_arena *a);
void wl_cmd_settings_json(const struct wl_settings *set, struct wl_json *object);

/* How a run cooled down, and what Slurm says of it, as members of its object; nothing where there is nothing. */
void wl_cmd_cooldown_json(const struct wl_cooldown *c, struct wl_json *object);
void wl_cmd_slurm_json(const struct wl_slurm_energy *s, struct wl_json *object);

/* The energy of a run, and its mean power, as its row has them. */
struct wl_amount wl_cmd_run_energy(const struct wl_run_row *run);
struct wl_amount wl_cmd_run_power(const struct wl_run_row *run);

/* How a run ended: "exit status 1", "killed by signal 9 (Killed)", its error, or "". */
char *wl_cmd_run_end(const struct wl_run_row *run, struct wl_arena *a);

#endif
