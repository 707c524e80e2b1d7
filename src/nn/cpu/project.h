/* What the two ways of computing project and decoder share: oneDNN's products (project.c) and those of gemm_bf16.c
 * (project_bf16.c). */
#ifndef WL_NN_CPU_PROJECT_H
#define WL_NN_CPU_PROJECT_H

#include "nn/cpu/simd_step.h"

/* Are the operation's products those of gemm_bf16.h? */
bool wl_project_uses_gemm_bf16(const struct wl_program *p, const struct wl_node *n);

/* Steps of them, from the parameters w and b, to their gradients dw and db (b, db NULL: no bias). With gelu the forward
 * step leaves its derivative in `slope` (NULL: not wanted). The gradient by x is added to dx, or multiplied with
 * `slope` where that is not NULL. */
void wl_project_bf16_forward(struct wl_program *p, const struct wl_node *n, struct wl_buf *w, struct wl_buf *b,
                             struct wl_buf *y, struct wl_buf *slope);
void wl_project_bf16_backward_weights(struct wl_program *p, const struct wl_node *n, struct wl_buf *dy,
                                      struct wl_buf *dw, struct wl_buf *db);
void wl_project_bf16_backward_data(struct wl_program *p, const struct wl_node *n, struct wl_buf *dy, struct wl_buf *w,
                                   struct wl_buf *dx, bool add, struct wl_buf *slope);

#endif
