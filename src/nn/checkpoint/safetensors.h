/* safetensors: the parameters alone, as other programs exchange them. */
#ifndef WL_NN_CHECKPOINT_SAFETENSORS_H
#define WL_NN_CHECKPOINT_SAFETENSORS_H

#include "nn/plan/plan.h"

enum { WL_SAFETENSOR_DIMS = 8 };

/* One tensor of a file, as it lies there. */
struct wl_safetensor {
    const char *name, *dtype; /* "F32", "BF16" ... */
    int dims;
    int64_t dim[WL_SAFETENSOR_DIMS];
    size_t count; /* elements */
    const uint8_t *data;
    bool used; /* wl_safetensors_load found a parameter for it */
};

struct wl_safetensors {
    const char *path;
    struct wl_safetensor *v; /* [n] in the order of their data */
    size_t n;
};

/* Maps a file, which is unmapped with the arena, and checks its header: WL_EINVAL and WL_EIO name what is wrong (a
 * header that is not JSON or is longer than the file, an unknown dtype, offsets that do not fit the shape, overlap, or
 * leave a gap). */
int wl_safetensors_open(struct wl_safetensors *s, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The tensor's elements as f32, rounded to the nearest where they are F64. WL_EINVAL: whole numbers. */
int wl_safetensors_read(const struct wl_safetensors *s, const struct wl_safetensor *t, float *to,
                        struct wl_err *e) WL_MUST_CHECK;

/* What files call the parameters of a network. */
struct wl_param_naming {
    /* Adds the names that a file may have for a parameter, the likeliest first. */
    void (*names)(const char *parameter, struct wl_strs *names, struct wl_arena *a);
    bool (*ignored)(const char *name); /* tensors of a file that are not parameters and are skipped silently */
};

/* Gives the parameters of a plan the values of a file. Parameters that are not there keep theirs; they, and tensors
 * that nobody asked for, are named in the log if `verbose`. WL_EINVAL: a tensor of another shape (with both shapes), or
 * a file without any parameter of this network. */
int wl_safetensors_load(struct wl_safetensors *s, struct wl_plan *plan, const struct wl_param_naming *naming,
                        bool verbose, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Writes the parameters of a plan under their own names as F32: beside the path, synced, renamed. */
int wl_safetensors_save(const char *path, struct wl_plan *plan, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
