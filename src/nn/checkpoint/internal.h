#ifndef WL_NN_CHECKPOINT_INTERNAL_H
#define WL_NN_CHECKPOINT_INTERNAL_H

#include "nn/checkpoint/checkpoint.h"

/* The file: this word, the header's length as u32, the header (JSON) with blanks up to a multiple of 64 bytes, the
 * tensors (f32, each padded to 64 bytes), CRC-32C of everything before as u32. Integers and reals are little-endian. */
#define WL_CHECKPOINT_MAGIC "WLCKPT1\n"
enum { WL_CHECKPOINT_ALIGN = 64, WL_CHECKPOINT_FORMAT = 1 };

static inline size_t wl_checkpoint_padded(size_t n)
{
    return (n + WL_CHECKPOINT_ALIGN - 1) / WL_CHECKPOINT_ALIGN * WL_CHECKPOINT_ALIGN;
}

const char *wl_checkpoint_kind(enum wl_state_kind kind); /* "parameter", "optimizer", "statistic" */

/* tensors.c: is the header's list what a writer makes of `data_bytes` bytes of tensors, one after the other to the end?
 * WL_EINVAL names the tensor, the field, its value and what was expected. */
int wl_checkpoint_check_tensors(const struct wl_checkpoint *c, int64_t data_bytes, struct wl_arena *a,
                                struct wl_err *e) WL_MUST_CHECK;

/* The names of the checkpoints of a folder, oldest first. */
int wl_checkpoint_list(const char *dir, struct wl_strs *names, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
