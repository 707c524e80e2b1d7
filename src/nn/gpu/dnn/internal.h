/* Descriptors under construction: what the files of this folder share. */
#ifndef WL_NN_GPU_DNN_INTERNAL_H
#define WL_NN_GPU_DNN_INTERNAL_H

#include "nn/gpu/dnn/dnn.h"

/* The error of a failed call: WL_ELIB with cuDNN's text. */
int wl_gpu_dnn_fail(const struct wl_gpu_dnn *d, const char *what, cudnnStatus_t status, struct wl_err *e);

/* Makes descriptors, which live as long as the arena. The first call that fails sets rc and the message; those after it
 * do nothing. */
struct wl_gpu_dnn_build {
    const struct wl_gpu_dnn *dnn;
    struct wl_arena *arena;
    struct wl_err *e;
    int rc;
    int64_t virtual; /* tensors that are not in memory so far */
};

cudnnBackendDescriptor_t wl_gpu_dnn_create(struct wl_gpu_dnn_build *b, int type);
void wl_gpu_dnn_set(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t d, int name, int type, int64_t n,
                    const void *v);
void wl_gpu_dnn_finalize(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t d, const char *what);

/* One value of a type. */
void wl_gpu_dnn_set_one(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t d, int name, int type, int v);
void wl_gpu_dnn_set_int64(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t d, int name, int64_t v);
void wl_gpu_dnn_set_descriptor(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t d, int name,
                               cudnnBackendDescriptor_t v);
/* The handle, or the described device. */
void wl_gpu_dnn_set_device(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t d, int handle_name, int device_name);

/* Up to `room` values of a finalized descriptor; gives how many there are of them. */
int64_t wl_gpu_dnn_get(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t d, int name, int type, int64_t room,
                       void *v);
char *wl_gpu_dnn_text(struct wl_gpu_dnn_build *b, cudnnBackendDescriptor_t d, int name);

/* The operation graph of a pass. */
cudnnBackendDescriptor_t wl_gpu_dnn_graph(struct wl_gpu_dnn_build *b, const struct wl_gpu_conv *c);

#endif
