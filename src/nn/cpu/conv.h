/* How convolutions are computed: kernels, what chooses one, and Winograd's algorithm for 1 x r and r x 1. */
#ifndef WL_NN_CPU_CONV_H
#define WL_NN_CPU_CONV_H

#include "nn/cpu/conv_custom.h"
#include "nn/cpu/cpu.h"

/* conv_kernel.c: the kernel of a pass between values of these layouts, with weights in the layout that it prefers. It
 * reads and writes the values' layouts in its own type: Winograd's algorithm exists in f32 alone. */
int wl_cpu_conv_kernel(struct wl_cpu *c, dnnl_primitive_desc_t *pd, const struct wl_conv_kernel *k,
                       const struct wl_window *v, const struct wl_layouts *values, const_dnnl_primitive_desc_t forward,
                       struct wl_err *e);

/* The pass in whose layout a convolution's parameter is held: the forward pass, which reads it; in bf16, where that
 * usually reads a copy, the pass that writes its gradient. */
enum wl_pass wl_cpu_conv_master(const struct wl_program *p);

/* conv_autotune.c: the answer of the table for a pass of convolution n; NULL: none, or the table is not asked. What
 * follows from it: oneDNN's algorithm, or in its place a kernel of this folder for that pass (NULL: none), if the
 * values' layouts are those that such kernels read. Measures answers for the table. */
const struct wl_choice *wl_cpu_conv_choice(const struct wl_program *p, const struct wl_node *n, enum wl_pass pass);
enum wl_conv_algorithm wl_cpu_conv_algorithm(const struct wl_program *p, const struct wl_choice *choice);
const struct wl_conv_custom *wl_cpu_conv_custom(const struct wl_program *p, const struct wl_choice *choice,
                                                const struct wl_window *v, enum wl_pass pass);
int wl_cpu_autotune(struct wl_program *p, struct wl_choices *choices, struct wl_err *e);

/* winograd_1d_conv.c: Winograd's algorithm for 1 x r and r x 1 (winograd_1d.h): does it apply to a pass between these
 * f32 values? `weights` is the layout in which the parameter is read, or its gradient written. The steps of a pass take
 * values in any layout. `add_times` adds what a pass runs. */
bool wl_cpu_winograd_1d_applies(struct wl_cpu *c, const struct wl_window *v, const struct wl_layouts *values,
                                enum wl_pass pass);
int wl_cpu_winograd_1d_weights(struct wl_cpu *c, const struct wl_window *v, enum wl_pass pass, wl_md *out,
                               struct wl_err *e);
int wl_cpu_winograd_1d_forward(struct wl_program *p, const struct wl_node *n, struct wl_buf *x, struct wl_buf *w,
                               struct wl_buf *y, struct wl_err *e);
int wl_cpu_winograd_1d_backward_weights(struct wl_program *p, const struct wl_node *n, struct wl_buf *x,
                                        struct wl_buf *dw, struct wl_err *e);
int wl_cpu_winograd_1d_backward_data(struct wl_program *p, const struct wl_node *n, struct wl_buf *w, struct wl_buf *dx,
                                     struct wl_err *e);
int wl_cpu_winograd_1d_add_times(struct wl_cpu *c, const struct wl_window *v, enum wl_pass pass, struct wl_timings *to,
                                 struct wl_err *e);

#endif
