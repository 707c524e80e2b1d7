/* Steps of the reference rules. */
#ifndef WL_NN_REF_STEP_H
#define WL_NN_REF_STEP_H

#include "nn/program.h"
#include "nn/ref/ref.h"

typedef int wl_ref_run_fn(const struct wl_step *s, const struct wl_run *r, struct wl_err *e);

/* A step that reads some buffers, then writes others. The first NULL ends a list, so an optional buffer stands last:
 * wl_ref_emit(p, n, "backward weights", WL_TRAIN, run, WL_BUFS(x, dy), WL_BUFS(dw, db)). */
struct wl_step *wl_ref_emit(struct wl_program *p, const struct wl_node *n, const char *what, unsigned when,
                            wl_ref_run_fn *run, struct wl_buf *const *reads, struct wl_buf *const *writes);
#define WL_BUFS(...) ((struct wl_buf *const[]) { __VA_ARGS__, NULL })

/* The value of parameter t as a product reads it: itself, or a copy in bf16 that this node makes. */
int wl_ref_weights(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *t, struct wl_buf **out,
                   struct wl_err *e);
struct wl_buf *wl_ref_param(struct wl_program *p, const struct wl_tensor *t);

/* The rules of image networks (image_rules.c). */
int wl_ref_conv_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_conv_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_batch_norm_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_batch_norm_backward_rule(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_relu_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_add_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_eltwise_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_pool_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_pool_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_linear_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_linear_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);

/* The rules of operations on sequences (sequence_rules.c, project_rules.c). */
int wl_ref_embed_tokens_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_embed_tokens_backward_rule(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_layer_norm_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_layer_norm_backward_rule(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_project_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_project_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_attention_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_attention_backward_rule(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_gather_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_gather_backward_rule(struct wl_program *p, const struct wl_node *n, struct wl_err *e);

/* The rules of dropout (dropout_rules.c). */
int wl_ref_dropout_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_dropout_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);

/* The rules of concat (concat_rules.c). */
int wl_ref_concat_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_concat_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);

/* The rules of the operations on fields (field_rules.c). */
int wl_ref_field_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_ref_field_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);

/* Use i of a step in this run, and the elements of its node's first input. */
static inline float *wl_ref_at(const struct wl_step *s, const struct wl_run *r, int i) { return wl_use_at(s, r, i); }

static inline int64_t wl_ref_count(const struct wl_step *s) { return wl_dims_count(&s->node->in[0]->dims); }

#endif
