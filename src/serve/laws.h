/* The laws of what is measured so far: computed when somebody asks, in a thread of their own, and kept until the runs
 * that are done change. */
#ifndef WL_SERVE_LAWS_H
#define WL_SERVE_LAWS_H

#include "base/base.h"

struct wl_site_laws;
struct wl_site_laws *wl_site_laws_new(struct wl_arena *a);

#endif
