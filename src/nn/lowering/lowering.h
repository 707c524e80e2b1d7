/* Rules that back-ends share: how a program runs operations whose steps are alike in all of them. What differs, the
 * kernels, is in the back-end's struct wl_op_rules. */
#ifndef WL_NN_LOWERING_LOWERING_H
#define WL_NN_LOWERING_LOWERING_H

#include "nn/lowering/kernels.h"
#include "nn/lowering/step.h"

/* The value of parameter t in plain f32. */
struct wl_buf *wl_lower_plain_param(struct wl_program *p, const struct wl_tensor *t);

/* Losses on plain values, which other layouts are copied into first; `lowering` is a struct wl_loss_steps. Uses: x,
 * labels or target, then the loss or dx. */
struct wl_loss_steps {
    wl_step_run_fn *forward, *backward;
};
int wl_lower_loss(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_lower_loss_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
extern const struct wl_loss_steps wl_loss_mean_square, wl_loss_relative_l2; /* with struct wl_distance_kernels */

/* Adds what a loss has seen to *counts: `loss` is the sum over seen->samples. Only the loss that counts them adds
 * its samples. */
void wl_lower_count_loss(const struct wl_node *n, double loss, const struct wl_counts *seen, struct wl_counts *counts);

/* Maps without parameters on plain values; `kernels` is a struct wl_linear_map. */
int wl_lower_linear_map(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_lower_linear_map_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);

/* position on plain values; `kernels` is a struct wl_position_kernels. */
int wl_lower_position(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_lower_position_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);

/* The backward step of concat for input i on plain buffers, dx = part of dy; `kernels` is a struct wl_concat_kernels.
 */
void wl_lower_channel_split(struct wl_program *p, const struct wl_node *n, int i, struct wl_buf *dy, struct wl_buf *dx);

/* Operations on rows, on plain buffers; `lowering` is one of the struct wl_rows_op below, `kernels` that operation's
 * kernels (kernels.h). */
int wl_lower_rows(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_lower_rows_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
extern const struct wl_rows_op wl_rows_embed, wl_rows_segment_sum, wl_rows_dense, wl_rows_filter_conv,
    wl_rows_bessel_basis, wl_rows_spherical_basis, wl_rows_angular_basis, wl_rows_gate, wl_rows_edge_concat,
    wl_rows_triplet_conv;

/* How node n drops out elements [samples,features] with probability `drop`, and that in one run: nothing in evaluation.
 */
struct wl_dropout wl_dropout_of(const struct wl_program *p, const struct wl_node *n, double drop, int64_t samples,
                                int64_t features);
struct wl_dropout wl_dropout_in_run(const struct wl_dropout *d, const struct wl_run *r);

#endif
