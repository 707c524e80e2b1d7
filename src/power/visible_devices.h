/* Which GPUs a job may use, from an environment variable such as CUDA_VISIBLE_DEVICES. */
#ifndef WL_POWER_VISIBLE_DEVICES_H
#define WL_POWER_VISIBLE_DEVICES_H

#include "base/base.h"

/* Which of n GPUs `words` names: indices in the order of `uuids`, or UUIDs, in full or as a unique prefix. A word that
 * matches none ends the list, as in CUDA. NULL keeps all. Returns how many were kept; *by_index: one was named by its
 * index. */
size_t wl_visible_devices(const char *words, char *const *uuids, size_t n, bool *keep, bool *by_index);

#endif
