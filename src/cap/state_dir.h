/* The state folder of a machine: one folder per user, one lock. docs/adr/094 */
#ifndef WL_CAP_STATE_DIR_H
#define WL_CAP_STATE_DIR_H

#include "cap/cap.h"

/* All state folders that may hold journals of this user; new journals go to the first. */
void wl_cap_state_dirs(const struct wl_cap_opts *opts, struct wl_strs *out, struct wl_arena *a);

/* Creates the state folder; that of the machine is open to all users. WL_EPERM: another user could remove or replace
 * what we keep in it. */
int wl_cap_state_make(const char *dir, struct wl_err *e);

/* One process at a time probes, sets and restores. Returns the lock, a descriptor to be closed. WL_EHUNG: another
 * process, which is named, has held it for three times `call_s`. Needs only read permission on the folder. */
int wl_cap_state_lock(const char *dir, double call_s, struct wl_err *e);

/* This user's folder in the state folder, writable for the user only and readable for all; created if missing. */
int wl_cap_state_user_dir(const char *dir, char **out, struct wl_arena *a, struct wl_err *e);

/* The files with this suffix in the state folder and its users' folders, sorted, at most `max` per folder of another
 * user. `why`: a line for each folder that cannot be listed, does not belong to its user or holds too many. Names may
 * contain any bytes. */
int wl_cap_state_files(const char *dir, const char *suffix, size_t max, struct wl_strs *paths, struct wl_strs *why,
                       struct wl_arena *a, struct wl_err *e);

#endif
