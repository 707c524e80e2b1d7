#include "nn/ref/backend/backend.h"

#include <string.h>

static struct wl_embedding_size lookup(const struct wl_node *n)
{
    const int64_t *y = n->out->dims.d;
    return (struct wl_embedding_size) { .n = y[0] * y[1], .s = y[1], .f = y[2] };
}

static int embedding_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_embedding_size l = lookup(s->node);
    const int32_t *tokens = s->uses[0].buf->at;
    wl_ref_embed_tokens(l, tokens, wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 3),
                        wl_step_use_f32(s, r, 4));
    return 0;
}

static int embed_tokens(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_value(p, &n->out->dims);
    struct wl_buf *table[3];
    for (int i = 0; i < 3; i++) table[i] = wl_lower_plain_param(p, n->par[i]);
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, embedding_run,
                      WL_BUFS(p->value[n->in[0]->id], table[0], table[1], table[2]), WL_BUFS(y));
    return 0;
}

/* A decoder has written the first table's gradient already, where there is one: `context` then says that this adds to
 * it.
 */
static int embedding_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    for (int i = s->context ? 3 : 2; i < s->n_uses; i++) memset(wl_step_use_f32(s, r, i), 0, s->uses[i].buf->bytes);
    wl_ref_embed_tokens_backward(lookup(s->node), s->uses[0].buf->at, wl_step_use_f32(s, r, 1),
                                 wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 3), wl_step_use_f32(s, r, 4));
    return 0;
}

static int embed_tokens_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *word = p->gradient[n->par[0]->id];
    struct wl_step *s = wl_step_emit(p, n, "backward", WL_TRAIN, embedding_backward_run);
    wl_step_reads(p, s, p->value[n->in[0]->id]);
    wl_step_reads(p, s, p->gradient[n->out->id]);
    if (word->first >= 0) {
        s->context = word;
        wl_step_accumulates(p, s, word);
    } else {
        wl_step_writes(p, s, word);
    }
    for (int i = 1; i < 3; i++) wl_step_writes(p, s, p->gradient[n->par[i]->id]);
    wl_gradient_done(p, n->out);
    return 0;
}

const struct wl_op_rules wl_ref_op_embed_tokens = { embed_tokens, embed_tokens_backward };
