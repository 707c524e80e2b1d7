/* The list of back-ends, for people and programs. */
#ifndef WL_NN_BACKENDS_H
#define WL_NN_BACKENDS_H

#include "nn/graph/tensor.h"

/* The back-ends: row i, NULL after the last. `unavailable` NULL: usable. */
struct wl_backend_row {
    const char *name, *unavailable;
    const char *help; /* one line */
    bool test_only;   /* chosen by name alone */
};
const struct wl_backend_row *wl_backend_row(size_t i);

/* Can a back-end (NULL: the best that was built) compute so on this machine? 0, or WL_EUNAVAIL with the reason. */
int wl_backend_precision(const char *backend, enum wl_dtype precision, bool slow_bf16, struct wl_err *e) WL_MUST_CHECK;

#endif
