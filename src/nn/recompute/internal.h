#ifndef WL_NN_RECOMPUTE_INTERNAL_H
#define WL_NN_RECOMPUTE_INTERNAL_H

#include "nn/program/memory.h"
#include "nn/recompute/recompute.h"

/* ---- a training step as it was lowered (liveness.c) ---- */

enum { WL_NEVER = -1 };

/* When training uses a buffer, as numbers of steps; WL_NEVER: it does not. */
struct wl_buf_liveness {
    size_t bytes;      /* that it takes in the arena of values; 0: it is of another class */
    int born;          /* written for the first time */
    int forward_last;  /* used by the last forward step */
    int forward_write; /* written by the last forward step */
    int back_first, back_last;
    int back_write; /* the first backward step that writes it */
    bool once;      /* a step that cannot run again writes it */
};

struct wl_liveness {
    const struct wl_program *program;
    int n_forward, n_steps;
    struct wl_buf_liveness *bufs; /* by the buffer's id */
    bool *repeatable;             /* by step */
    double *flops, *work;         /* by forward step: what running it takes, flop, NAN where it is
                                   * not known; `work` counts memory too */
    size_t *gradients; /* by step: bytes of what backward steps make that are alive at it; of what they hand over to it
                          in `handed` */
    size_t *handed;
    size_t small; /* a buffer of so few bytes is kept rather than recomputed */
};

void wl_liveness_init(struct wl_liveness *s, const struct wl_program *p, struct wl_arena *a);

/* ---- segments (segment.c) ---- */

/* Forward steps [from, to), and what recomputing their values means. */
struct wl_recompute_segment {
    int from, to;
    int before;     /* the backward step before which the others run again */
    bool *steps;    /* by step of the program: it runs again */
    bool *bufs;     /* by the buffer's id: it is recomputed */
    size_t n_steps; /* that run again */
    double work;
};

/* Is the buffer, which the steps [from, to) write first, kept for others although these run again? */
bool wl_recompute_segment_keeps(const struct wl_liveness *s, int to, const struct wl_buf_liveness *l);

/* False: the values cannot be recomputed, since something that they depend on is overwritten before. n_steps 0: there
 * is nothing to recompute. */
bool wl_recompute_segment_find(const struct wl_liveness *s, int from, int to, struct wl_recompute_segment *g,
                               struct wl_arena *a);

/* ---- the program with segments that run again (rewrite.c) ---- */

/* A copy of the program in the arena `a`; steps and buffers that are as before are shared with it. */
struct wl_program wl_recompute_rewrite(const struct wl_liveness *s, const struct wl_recompute_segment *segments,
                                       size_t n, struct wl_arena *a);

/* ---- what a segment costs (cost.c) ---- */

/* Bytes are in addition to those that are kept of the steps before `from`. */
struct wl_recompute_segment_cost {
    bool possible;  /* to recompute it */
    size_t kept[2]; /* from its forward pass until its backward pass: [1] when it is recomputed, [0] when not */
    size_t peak[2]; /* alive at once in its passes */
    double work;    /* of recomputing it */
};
struct wl_recompute_segment_cost wl_recompute_segment_cost(const struct wl_liveness *s, int from, int to,
                                                           struct wl_arena *a);

#endif
