/* The manifest of generated data: a file beside them with their settings and whether generation finished. So repeating
 * a call costs nothing, and an interrupted one can be repeated. */
#ifndef WL_DATA_MANIFEST_H
#define WL_DATA_MANIFEST_H

#include "base/base.h"

/* Called before anything is written: makes the folder, and the manifest in it with the settings (lines of INI text).
 * *complete: data of the same settings are complete already. WL_EINVAL: data of other settings, or foreign content. */
int wl_manifest_begin(const char *dir, const char *settings, bool *complete, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* Called when everything is written. */
int wl_manifest_end(const char *dir, const char *settings, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
