/* Results that are written where the concatenation that alone reads them wants them: it has nothing to copy. */
#ifndef WL_NN_GPU_OPS_CONCAT_H
#define WL_NN_GPU_OPS_CONCAT_H

#include "nn/gpu/gpu.h"
#include "nn/gpu/kernels/tiles.h"

struct wl_gpu_place {
    struct wl_buf *buf; /* of a concatenation's result */
    struct wl_gpu_slice slice;
};

/* Where tensor t, the result of the node that is being lowered, is to be written; false: it needs a buffer of its own.
 * After true, t's value is place->buf, and its gradient, which others hold too, is in the same slice. */
bool wl_gpu_concat_place(struct wl_program *p, const struct wl_tensor *t, struct wl_gpu_place *place);

#endif
