/* This machine, by name. */
#ifndef WL_BASE_MACHINE_H
#define WL_BASE_MACHINE_H

#include "base/arena.h"

/* "model name" of the first CPU in /proc/cpuinfo (x86); elsewhere the architecture; "unknown" where neither is told. */
char *wl_cpu_name(struct wl_arena *a);

#endif
