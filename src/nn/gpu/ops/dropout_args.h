/* How a step's kernels drop elements out. */
#ifndef WL_NN_GPU_OPS_DROPOUT_ARGS_H
#define WL_NN_GPU_OPS_DROPOUT_ARGS_H

#include "nn/gpu/gpu.h"
#include "nn/gpu/kernels/dropout.h"
#include "nn/lowering/lowering.h"

/* Of what wl_dropout_of gave; nothing in evaluation. The update and the first sample are read on the device. */
static inline struct wl_gpu_dropout wl_gpu_dropout_args(const struct wl_gpu *g, const struct wl_dropout *d,
                                                        const struct wl_run *r)
{
    const uint32_t drop = r->training ? d->drop : 0;
    return (struct wl_gpu_dropout) { .run = g->run,
                                     .key = d->key,
                                     .f = d->f,
                                     .drop = drop,
                                     .scale = (float)WL_DROP_STEPS / (float)(WL_DROP_STEPS - drop) };
}

#endif
