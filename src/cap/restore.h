/* Restores what the journals of dead processes name. */
#ifndef WL_CAP_RESTORE_H
#define WL_CAP_RESTORE_H

#include "cap/claims.h"

struct wl_restore_options {
    const struct wl_cap_opts *opts;    /* timeout */
    const struct wl_power_opts *power; /* how root reaches the devices that other users' journals name */
    bool dry_run, force;
    bool reserved; /* the devices are reserved by us: another live holder is believed only if its value is read back */
    struct wl_restore_setters *setters; /* private to restore.c: NULL */
};

/* Restores what one journal names and removes it when nothing is left to do; the state folder is locked. `all`: the
 * journals in it, may be NULL. */
int wl_journal_restore(const struct wl_journal *j, const struct wl_claims *all, const struct wl_restore_options *opts,
                       bool rebooted, struct wl_restore_results *out, struct wl_arena *a, struct wl_err *e);

/* wl_cap_restore of one state folder whose lock is held. */
int wl_restore_locked(const char *dir, const struct wl_restore_options *opts, struct wl_restore_results *out,
                      struct wl_arena *a, struct wl_err *e);

#endif
