/* Convolution kernels of this folder that compute a whole pass between bf16 values, beside those of oneDNN: candidates
 * of the choice by measurement. Values are in blocks of 16 channels [N,C/16,H,W,16]; weights and their gradients are
 * f32 [K/16,C/16,R,S,16 c,16 k] in every pass (wl_md_filters). */
#ifndef WL_NN_CPU_CONV_CUSTOM_H
#define WL_NN_CPU_CONV_CUSTOM_H

#include "nn/cpu/cpu.h"
#include "nn/cpu/timing.h"

/* A pass to compute. What it does not use is NULL. */
struct wl_conv_call {
    struct wl_window v;
    enum wl_pass pass;
    const uint16_t *x;  /* [N,C,H,W]: forward, by weights */
    const uint16_t *dy; /* [N,K,P,Q]: backward */
    const float *w;     /* forward, by data */
    const float *bias;  /* [K]: forward; NULL: none */
    bool relu;          /* forward: max(0, .) of the result, which keeps NaN */
    uint16_t *y, *dx;   /* written whole: forward, by data */
    float *dw, *db;     /* written whole: by weights; db NULL: there is no bias */
    void *scratch;      /* of 64-byte alignment */
};

/* A kernel. Bits do not depend on the number of threads. */
struct wl_conv_custom {
    const char *answer;              /* in the table of choices: "winograd in int16" */
    const char *implementation;      /* in --explain */
    const char *numerics;            /* there too: the algorithm, its arithmetic and its error class */
    struct wl_arithmetic arithmetic; /* there too, where tiles are whole */
    bool (*applies)(const struct wl_window *v, enum wl_pass pass);         /* shape, pass and processor */
    size_t (*scratch_bytes)(const struct wl_window *v, enum wl_pass pass); /* for omp_get_max_threads() */
    void (*run)(const struct wl_conv_call *c);
};

/* The kernel for a pass of a convolution of bf16 values in blocks of channels; NULL: none. */
const struct wl_conv_custom *wl_conv_custom_of(const struct wl_window *v, enum wl_pass pass);

/* Between values of these layouts: are they what such a kernel reads and writes? */
bool wl_conv_custom_reads(struct wl_cpu *c, const struct wl_window *v, const struct wl_layouts *values);

/* The layout in which every pass holds the weights or their gradient. */
int wl_conv_custom_weights(struct wl_cpu *c, const struct wl_window *v, wl_md *out, struct wl_err *e);

/* The buffers of a pass; y, dx and dw are what it writes. */
struct wl_conv_bufs {
    struct wl_buf *x, *dy, *w, *bias, *y, *dx, *dw, *db;
    bool relu;
};

/* Emits the step of a pass; its scratch memory is added as a buffer. */
void wl_conv_custom_emit(struct wl_program *p, const struct wl_node *n, const struct wl_conv_custom *kernel,
                         enum wl_pass pass, const struct wl_choice *choice, const struct wl_conv_bufs *b);

/* Adds what a pass runs, on memory of its own. */
int wl_conv_custom_add_time(const struct wl_conv_custom *kernel, const struct wl_window *v, enum wl_pass pass,
                            bool bias, struct wl_timings *to, struct wl_err *e);

/* db [K] = the sum over pieces of sums [pieces,K], in their order. */
void wl_conv_custom_sum_bias(const float *sums, int64_t pieces, int64_t k, float *db);

/* The kernels. */
extern const struct wl_conv_custom wl_conv_winograd_3x3_int16, wl_conv_winograd_3x3_weights, wl_conv_weights_bf16;

#endif
