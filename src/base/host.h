/* Which machine this is, and which of its boots. */
#ifndef WL_BASE_HOST_H
#define WL_BASE_HOST_H

#include "base/arena.h"

/* The host's name; $WATTLAW_HOST takes its place where several nodes have one name (containers, nodes that share a
 * machine). "unknown" where there is none. */
char *wl_host_name(struct wl_arena *a);

/* /proc/sys/kernel/random/boot_id: another one after each start of the machine. "" where it cannot be read. */
char *wl_host_boot_id(struct wl_arena *a);

/* "model name" of the first CPU in /proc/cpuinfo (x86); elsewhere the architecture; "unknown" where neither is told. */
char *wl_host_cpu_name(struct wl_arena *a);

/* The folder where wattlaw keeps what outlives a run: $WATTLAW_STATE_DIR (made absolute), as root /var/lib/wattlaw,
 * else $XDG_STATE_HOME/wattlaw or ~/.local/state/wattlaw. `given`: a folder that takes the place of all these; NULL:
 * none. */
char *wl_state_dir(const char *given, struct wl_arena *a);

#endif
