/* The list of back-ends, for people and programs. */
#ifndef WL_NN_BACKENDS_H
#define WL_NN_BACKENDS_H

#include "nn/graph/tensor.h"

/* The back-ends: row i, NULL after the last. `unavailable` NULL: usable. */
struct wl_backend_row {
    const char *name, *unavailable;
    const char *help; /* one line */
    bool by_name;     /* chosen by name alone */
    bool gpus;        /* computes on GPUs, each rank on one of its own */
};
const struct wl_backend_row *wl_backend_row(size_t i);

/* Can a back-end (NULL: the best that was built) compute so on this machine? 0, or WL_EUNAVAIL with the reason. */
int wl_backend_precision(const char *backend, enum wl_dtype precision, bool slow_bf16, struct wl_err *e) WL_MUST_CHECK;

/* Does it have products of f32 in TF32? 0, or WL_EUNAVAIL. Whether the GPU has them shows when a plan is made. */
int wl_backend_tf32(const char *backend, struct wl_err *e) WL_MUST_CHECK;

/* Does a back-end (NULL: the best that was built) compute on GPUs? False where it is not known. */
bool wl_backend_on_gpus(const char *backend);

/* The GPU that a rank computes on: of those that its process may see, the one with the rank's number among the ranks
 * of its node, counted around where they are fewer. Empty texts: a back-end that computes on processors. WL_EUNAVAIL:
 * there is none, with the reason. */
struct wl_backend_device {
    char name[96], uuid[48], bus[24]; /* "NVIDIA H100 80GB HBM3", "GPU-5f0a...", "00000000:3B:00.0" */
    int number, count;                /* of those that the process may see */
};
int wl_backend_locate(const char *backend, int node_rank, struct wl_backend_device *out,
                      struct wl_err *e) WL_MUST_CHECK;

#endif
