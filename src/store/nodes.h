/* The nodes of a run and the caps on them, as they are written. */
#ifndef WL_STORE_NODES_H
#define WL_STORE_NODES_H

#include "store/run.h"

/* The nodes and caps of a run that ends; its row is closed. */
int wl_store_add_nodes_caps(struct wl_store *s, int64_t run, const struct wl_run_end *end,
                            struct wl_err *e) WL_MUST_CHECK;

#endif
