/* Which machine this is, and which of its boots. */
#ifndef WL_BASE_HOST_H
#define WL_BASE_HOST_H

#include "base/arena.h"

/* The host's name, or $WATTLAW_HOST, for nodes that share a name (containers, several nodes on one machine). "unknown":
 * none. */
char *wl_host_name(struct wl_arena *a);

/* /proc/sys/kernel/random/boot_id, which is new after each start of the machine. "": cannot be read. */
char *wl_host_boot_id(struct wl_arena *a);

/* "model name" of the first CPU in /proc/cpuinfo (x86); else the architecture; else "unknown". */
char *wl_host_cpu_name(struct wl_arena *a);

/* The folder for state that outlives a run: `given` if not NULL, else $WATTLAW_STATE_DIR (made absolute), as root
 * /var/lib/wattlaw, else $XDG_STATE_HOME/wattlaw or ~/.local/state/wattlaw; without a home /tmp/wattlaw-state-UID, and
 * a folder that does not exist where others have made that one. */
char *wl_state_dir(const char *given, struct wl_arena *a);

#endif
