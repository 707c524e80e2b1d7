/* Pooling of images in NHWC. */
#ifndef WL_NN_GPU_KERNELS_POOL_H
#define WL_NN_GPU_KERNELS_POOL_H

#include <stdint.h>

/* x, dx [n,h,w,width]  y, dy [n,p,q,width]  index [n,p,q,width]: of max_pool, where in the window r x s the maximum is,
 * row by row. A block (i, j) takes part j of the groups of eight channels of line i: of y, backward of dx. */
struct wl_gpu_pool {
    const void *x;
    void *y;
    const void *dy;
    void *dx;
    uint16_t *index; /* NULL: not wanted */
    int32_t n, h, w, p, q, r, s;
    int32_t stride[2], pad[2];
    int32_t width;
    int32_t exclude_pad; /* of avg_pool: divide by the pixels inside the image alone */
};

#endif
