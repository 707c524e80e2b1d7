/* What a back-end is: its device, and a rule per operation. */
#ifndef WL_NN_PROGRAM_BACKEND_H
#define WL_NN_PROGRAM_BACKEND_H

#include "nn/backends.h"
#include "nn/program/device.h"
#include "nn/program/program.h"

/* What a back-end does for an operation. Both functions return 0 or a code with the node's name in the message.
 * `backward` is called when the gradient of node->out is complete (losses start it themselves) and is not called for
 * nodes that no gradient reaches. */
struct wl_op_rules {
    int (*forward)(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
    int (*backward)(struct wl_program *p, const struct wl_node *n, struct wl_err *e); /* (optional: no_backward) */
    const void *lowering; /* of rules that back-ends share (nn/lowering): how they lower this operation */
    const void *kernels;  /* and the back-end's kernels that they run */
    /* (optional: no) Does the backward rule of node n read p->addend of n->out beside its gradient? Asked after the
     * forward pass was lowered. */
    bool (*adds_gradients)(const struct wl_program *p, const struct wl_node *n);
};

struct wl_backend {
    struct wl_backend_row row;
    const char *(*library)(struct wl_arena *a);
    const struct wl_device_ops *device;
    /* Fills p->device; of several, that of p->node_rank. threads: of the host, 0: as the machine has them. */
    int (*open)(struct wl_program *p, int threads, struct wl_err *e);
    /* (optional) Answers the questions of the program's graph that the table does not know. */
    int (*choose)(struct wl_program *p, struct wl_choices *choices, struct wl_err *e);
    /* (optional: it computes on processors) As wl_backend_locate. */
    int (*locate)(int node_rank, struct wl_backend_device *out, struct wl_err *e);
    const struct wl_op_rules *const *rules; /* WL_OP_COUNT of them */
    const char *own_kernel;                 /* (optional: "plain C") what a step's kernel is called that has no name */
    bool emulates_16_bits;                  /* such numbers stay in f32 buffers (wl_buf.holds) */
    bool f16, tf32;                         /* f32 and bf16 are there in any case */
    /* (optional: on any processor) As wl_backend_precision. */
    int (*precision)(enum wl_dtype precision, bool slow_bf16, struct wl_err *e);
    /* Emits a step dst = a + b; all of one layout, dst may be a or b. */
    int (*sum)(struct wl_program *p, const struct wl_node *n, struct wl_buf *a, struct wl_buf *b, struct wl_buf *dst,
               struct wl_err *e);
    /* Emits a step that copies into another layout or type. */
    int (*reorder)(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, struct wl_buf *to,
                   struct wl_err *e);
    /* (optional: a back-end whose buffers are all plain) The layout's name. */
    const char *(*layout_name)(const void *layout, struct wl_arena *a);
    /* (optional, as layout_name) Copy a buffer to and from plain memory now, outside of a step. */
    int (*read)(void *device, const struct wl_buf *b, float *to, struct wl_err *e);
    int (*write)(void *device, const struct wl_buf *b, const float *from, struct wl_err *e);
};
extern const struct wl_backend *const wl_backends[]; /* NULL-terminated, best first */
extern const struct wl_backend wl_backend_ref, wl_backend_cpu, wl_backend_boxed, wl_backend_gpu;

/* The back-end of this name (NULL: the best that was built). WL_EINVAL: not known; WL_EUNAVAIL: not built. */
int wl_backend_find(const char *name, const struct wl_backend **out, struct wl_err *e) WL_MUST_CHECK;

#endif
