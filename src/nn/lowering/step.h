/* Steps of the reference rules. */
#ifndef WL_NN_LOWERING_STEP_H
#define WL_NN_LOWERING_STEP_H

#include "nn/program/program.h"
#include "nn/ref/ref.h"

typedef int wl_step_run_fn(const struct wl_step *s, const struct wl_run *r, struct wl_err *e);

/* A step that reads some buffers, then writes others. The first NULL ends a list, so an optional buffer stands last:
 * wl_step_emit_uses(p, n, "backward weights", WL_TRAIN, run, WL_BUFS(x, dy), WL_BUFS(dw, db)). */
struct wl_step *wl_step_emit_uses(struct wl_program *p, const struct wl_node *n, const char *what, unsigned when,
                                  wl_step_run_fn *run, struct wl_buf *const *reads, struct wl_buf *const *writes);
#define WL_BUFS(...) ((struct wl_buf *const[]) { __VA_ARGS__, NULL })

/* The value of parameter t as a product reads it: itself, or a copy in bf16 that this node makes. */
int wl_ref_weights(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *t, struct wl_buf **out,
                   struct wl_err *e);
struct wl_buf *wl_ref_param(struct wl_program *p, const struct wl_tensor *t);

/* The rules of image networks (image_rules.c). */
int wl_ref_lower_conv(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_conv_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_batch_norm(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_batch_norm_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_relu(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_add(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_eltwise_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_pool(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_pool_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_linear(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_linear_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);

/* The rules of operations on sequences (sequence_rules.c, project_rules.c). */
int wl_ref_lower_embed_tokens(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_embed_tokens_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_layer_norm(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_layer_norm_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_project(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_project_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_attention(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_attention_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_gather(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_gather_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);

/* The rules of dropout (dropout_rules.c). */
int wl_ref_lower_dropout(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_dropout_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);

/* The rules of concat (concat_rules.c). */
int wl_ref_lower_concat(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_concat_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);

/* The rules of the operations on fields (field_rules.c). */
int wl_ref_lower_field(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_lower_field_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);

/* Use i of a step in this run, and the elements of its node's first input. */
static inline float *wl_step_use_f32(const struct wl_step *s, const struct wl_run *r, int i)
{
    return wl_use_at(s, r, i);
}

static inline int64_t wl_step_input_count(const struct wl_step *s) { return wl_dims_count(&s->node->in[0]->dims); }

#endif
