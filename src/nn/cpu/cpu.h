/* Shared by the rules of nn/cpu. */
#ifndef WL_NN_CPU_CPU_H
#define WL_NN_CPU_CPU_H

#include "nn/cpu/dnnl_api.h"
#include "nn/lowering/lowering.h"

static inline struct wl_cpu *wl_cpu_of(const struct wl_program *p) { return p->device; }

/* The layout of a buffer, plain ones included. */
int wl_cpu_layout(const struct wl_program *p, const struct wl_buf *b, wl_md *out, struct wl_err *e);

/* A buffer of class VALUE in this layout. */
struct wl_buf *wl_cpu_buf(struct wl_program *p, wl_md md, const struct wl_dims *dims);

/* An argument of a primitive. A list ends with arg 0; entries with buf NULL are skipped. */
struct wl_cpu_arg {
    int arg; /* DNNL_ARG_... */
    struct wl_buf *buf;
    bool write;
};

/* Is there address space for oneDNN to make one more kernel? WL_ENOMEM names `what` it is for. */
int wl_cpu_check_room(const char *what, struct wl_err *e) WL_MUST_CHECK;

/* Compiles a primitive, which the caller destroys. */
int wl_cpu_primitive_new(dnnl_primitive_t *out, const_dnnl_primitive_desc_t pd, const char *what,
                         struct wl_err *e) WL_MUST_CHECK;

/* Compiles the primitive and emits the step that executes it; its scratchpad is added as a buffer. */
int wl_cpu_emit(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                const_dnnl_primitive_desc_t pd, const struct wl_cpu_arg *args, struct wl_err *e);

/* `from` in the wanted layout: itself, or a copy that a step makes. */
int wl_cpu_in_layout(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, wl_md want,
                     struct wl_buf **out, struct wl_err *e);
int wl_cpu_reorder(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, struct wl_buf *to,
                   struct wl_err *e);

/* The parameter n->par[0] with these dimensions, f32 in the layout `master` (NULL: as wanted); *out is what a kernel
 * reads in the wanted layout and type: the parameter, or the copy that a step makes. */
int wl_cpu_weights(struct wl_program *p, const struct wl_node *n, wl_md master, wl_md want, const struct wl_dims *dims,
                   struct wl_buf **out, struct wl_err *e);

/* What a kernel writes in the layout `writes` into b: b itself, or a buffer of that layout; then its copy to b where
 * that is another one. */
struct wl_buf *wl_cpu_written(struct wl_program *p, struct wl_buf *b, wl_md writes);
int wl_cpu_copy_back(struct wl_program *p, const struct wl_node *n, struct wl_buf *written, struct wl_buf *to,
                     struct wl_err *e);

/* The pass of a convolution or matrix product that writes the gradients of its weights and of its bias, if it has one.
 * choice: what chose the kernel, or NULL. */
int wl_cpu_backward_weights(struct wl_program *p, const struct wl_node *n, const_dnnl_primitive_desc_t pd,
                            const struct wl_choice *choice, struct wl_buf *x, struct wl_buf *dy, struct wl_err *e);

/* Adds dx as the gradient of x, in x's layout. */
int wl_cpu_gradient_add(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *x, struct wl_buf *dx,
                        struct wl_err *e);

/* The rules of the operations; one file per operation, or for those that share a kernel. */
#define WL_CPU_RULES(op, name, ...) extern const struct wl_op_rules wl_cpu_op_##name;
WL_OPS(WL_CPU_RULES)
#undef WL_CPU_RULES

/* Emits dst = a + b. */
int wl_cpu_sum(struct wl_program *p, const struct wl_node *n, struct wl_buf *a, struct wl_buf *b, struct wl_buf *dst,
               struct wl_err *e);

/* Emits the backward pass of relu n for the gradient of y, its result or maxima of it: *d, which may take its place. */
int wl_cpu_relu_backward(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *y, struct wl_buf **d,
                         struct wl_err *e);

/* The backward pass of a sum that `norm` has computed; does it add up two parts of the sum's gradient? */
bool wl_cpu_batch_norm_adds_gradients(const struct wl_program *p, const struct wl_node *sum);
int wl_cpu_batch_norm_add_backward(struct wl_program *p, const struct wl_node *sum, const struct wl_node *norm,
                                   struct wl_err *e);

#endif
