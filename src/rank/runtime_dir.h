/* The runtime folder in which processes of one user on one node find each other. docs/adr/018 */
#ifndef WL_RANK_RUNTIME_DIR_H
#define WL_RANK_RUNTIME_DIR_H

#include "base/base.h"

/* The folder wattlaw-UID, or one of that name with a random suffix, in $WATTLAW_NODE_DIR, else /dev/shm or /tmp: made
 * if it is missing; nobody else can write in it. Returns its descriptor, which lives as long as the arena. WL_EPERM:
 * no such folder can be had. */
int wl_runtime_dir_open(const char **folder, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Calls visit for each folder of such a name that is ours, except the one of the descriptor. */
typedef void wl_runtime_dir_visit(void *ctx, int dir, const char *folder);
void wl_runtime_dir_others(int ours, wl_runtime_dir_visit *visit, void *ctx, struct wl_arena *a);

#endif
