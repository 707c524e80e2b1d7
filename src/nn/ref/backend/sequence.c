/* How a program runs embed_tokens, layer_norm, attention and gather. */
#include "nn/lowering/step.h"

#include <string.h>

int wl_lower_check_index(const char *what, const char *of, const int32_t *index, int64_t n, int64_t samples,
                         int64_t limit, struct wl_err *e)
{
    for (int64_t i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= limit)
            return wl_fail(e, WL_EINVAL, "%s %d of sample %lld is not among the %lld %s", what, (int)index[i],
                           (long long)(i / (n / samples)), (long long)limit, of);
    return 0;
}

/* ---- embed_tokens ---- */

static struct wl_lookup lookup(const struct wl_node *n)
{
    const int64_t *y = n->out->dims.d;
    return (struct wl_lookup) { .n = y[0] * y[1], .s = y[1], .f = y[2] };
}

static int embedding_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_lookup l = lookup(s->node);
    const int32_t *tokens = s->uses[0].buf->at;
    int rc =
        wl_lower_check_index("token", "rows of the table", tokens, l.n, l.n / l.s, s->node->u.tables.vocabulary, e);
    if (rc) return rc;
    wl_ref_embed_tokens(l, tokens, wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 3),
                        wl_step_use_f32(s, r, 4));
    return 0;
}

int wl_ref_lower_embed_tokens(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_value(p, &n->out->dims);
    struct wl_buf *table[3];
    for (int i = 0; i < 3; i++) table[i] = wl_ref_param(p, n->par[i]);
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, embedding_run,
                      WL_BUFS(p->value[n->in[0]->id], table[0], table[1], table[2]), WL_BUFS(y));
    return 0;
}

/* A decoder has written the first table's gradient already, where there is one: `own` then says that this adds to it.
 */
static int embedding_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    for (int i = s->own ? 3 : 2; i < s->n_uses; i++) memset(wl_step_use_f32(s, r, i), 0, s->uses[i].buf->bytes);
    wl_ref_embed_tokens_backward(lookup(s->node), s->uses[0].buf->at, wl_step_use_f32(s, r, 1),
                                 wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 3), wl_step_use_f32(s, r, 4));
    return 0;
}

int wl_ref_lower_embed_tokens_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *word = p->gradient[n->par[0]->id];
    struct wl_step *s = wl_step_emit(p, n, "backward", WL_TRAIN, embedding_backward_run);
    wl_step_reads(p, s, p->value[n->in[0]->id]);
    wl_step_reads(p, s, p->gradient[n->out->id]);
    if (word->first >= 0) {
        s->own = word;
        wl_step_accumulates(p, s, word);
    } else {
        wl_step_writes(p, s, word);
    }
    for (int i = 1; i < 3; i++) wl_step_writes(p, s, p->gradient[n->par[i]->id]);
    wl_gradient_done(p, n->out);
    return 0;
}

/* ---- layer_norm: z = x + dropout(branch) is kept ---- */

static int layer_norm_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const int64_t n = wl_step_input_count(s);
    const float *x = wl_step_use_f32(s, r, 0);
    float *z = wl_step_use_f32(s, r, s->n_uses - 2), *y = wl_step_use_f32(s, r, s->n_uses - 1);
    if (s->node->in[1]) {
        const struct wl_dropout d = wl_dropout_in_run(s->own, r);
        wl_ref_dropout(&d, wl_step_use_f32(s, r, 3), z);
        wl_ref_add(n, x, z, z);
    } else {
        memcpy(z, x, (size_t)n * sizeof *z);
    }
    wl_ref_layer_norm(wl_vectors_of(s->node->out), s->node->u.layer_norm.eps, z, wl_step_use_f32(s, r, 1),
                      wl_step_use_f32(s, r, 2), y);
    return 0;
}

static struct wl_dropout *norm_dropout(struct wl_program *p, const struct wl_node *n)
{
    const struct wl_dims *x = &n->in[0]->dims;
    struct wl_dropout *d = wl_new(p->arena, struct wl_dropout);
    *d = wl_dropout_of(p, n, n->u.layer_norm.drop, x->d[0], wl_dims_count(x) / x->d[0]);
    return d;
}

int wl_ref_lower_layer_norm(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *x = p->value[n->in[0]->id], *branch = n->in[1] ? p->value[n->in[1]->id] : NULL;
    struct wl_buf *gamma = wl_ref_param(p, n->par[0]), *beta = wl_ref_param(p, n->par[1]);
    struct wl_buf *z = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims), *y = wl_buf_value(p, &n->out->dims);
    p->value[n->out->id] = y;
    p->kept[n->out->id].buf[0] = z;
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, layer_norm_run, WL_BUFS(x, gamma, beta, branch),
                      WL_BUFS(z, y))
        ->own = norm_dropout(p, n);
    return 0;
}

static int layer_norm_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_layer_norm_backward(wl_vectors_of(s->node->out), s->node->u.layer_norm.eps, wl_step_use_f32(s, r, 0),
                               wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 3),
                               wl_step_use_f32(s, r, 4), wl_step_use_f32(s, r, 5));
    const struct wl_dropout d = wl_dropout_in_run(s->own, r);
    if (s->node->in[1]) wl_ref_dropout(&d, wl_step_use_f32(s, r, 3), wl_step_use_f32(s, r, 6));
    return 0;
}

int wl_ref_lower_layer_norm_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy = p->gradient[n->out->id], *dz = wl_buf_like(p, dy),
                  *branch = n->in[1] ? wl_buf_like(p, dy) : NULL;
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, layer_norm_backward_run,
                      WL_BUFS(p->kept[n->out->id].buf[0], dy, p->value[n->par[0]->id]),
                      WL_BUFS(dz, p->gradient[n->par[0]->id], p->gradient[n->par[1]->id], branch))
        ->own = norm_dropout(p, n);
    int rc = n->in[0]->gradient ? wl_gradient_add(p, n, n->in[0], dz, e) : 0;
    if (!rc && branch && n->in[1]->gradient) rc = wl_gradient_add(p, n, n->in[1], branch, e);
    wl_gradient_done(p, n->out);
    return rc;
}

/* ---- attention ---- */

static struct wl_buf *attention_scratch(struct wl_program *p, const struct wl_node *n)
{
    int64_t s = wl_heads_of(n).s;
    return wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(2, s, s));
}

static struct wl_dropout *attention_dropout(struct wl_program *p, const struct wl_node *n)
{
    const struct wl_heads h = wl_heads_of(n);
    struct wl_dropout *d = wl_new(p->arena, struct wl_dropout);
    *d = wl_dropout_of(p, n, n->u.attention.drop, h.n, h.heads * h.s * h.s);
    return d;
}

static int attention_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_dropout d = wl_dropout_in_run(s->own, r);
    wl_ref_attention(wl_heads_of(s->node), &d, wl_step_use_f32(s, r, 0), s->uses[1].buf->at, wl_step_use_f32(s, r, 2),
                     wl_step_use_f32(s, r, 3));
    return 0;
}

static int attention_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_dropout d = wl_dropout_in_run(s->own, r);
    wl_ref_attention_backward(wl_heads_of(s->node), &d, wl_step_use_f32(s, r, 0), s->uses[1].buf->at,
                              wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 3), wl_step_use_f32(s, r, 4));
    return 0;
}

int wl_ref_lower_attention(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_value(p, &n->out->dims);
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, attention_run,
                      WL_BUFS(p->value[n->in[0]->id], p->value[n->in[1]->id]), WL_BUFS(y, attention_scratch(p, n)))
        ->own = attention_dropout(p, n);
    return 0;
}

int wl_ref_lower_attention_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x = p->value[n->in[0]->id], *dx = wl_buf_like(p, x);
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, attention_backward_run,
                      WL_BUFS(x, p->value[n->in[1]->id], p->gradient[n->out->id]), WL_BUFS(dx, attention_scratch(p, n)))
        ->own = attention_dropout(p, n);
    int rc = wl_gradient_add(p, n, n->in[0], dx, e);
    wl_gradient_done(p, n->out);
    return rc;
}

/* ---- gather ---- */

static struct wl_gather gather(const struct wl_node *n)
{
    const int64_t *x = n->in[0]->dims.d;
    return (struct wl_gather) { .n = x[0], .s = x[1], .p = n->in[1]->dims.d[1], .f = x[2] };
}

static int gather_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_gather g = gather(s->node);
    const int32_t *positions = s->uses[1].buf->at;
    int rc = wl_lower_check_index("position", "of its sequence", positions, g.n * g.p, g.n, g.s, e);
    if (!rc) wl_ref_gather(g, positions, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 2));
    return rc;
}

static int gather_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_gather_backward(gather(s->node), s->uses[1].buf->at, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 2));
    return 0;
}

int wl_ref_lower_gather(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_value(p, &n->out->dims);
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, gather_run,
                      WL_BUFS(p->value[n->in[0]->id], p->value[n->in[1]->id]), WL_BUFS(y));
    return 0;
}

int wl_ref_lower_gather_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dx = wl_buf_like(p, p->value[n->in[0]->id]);
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, gather_backward_run,
                      WL_BUFS(p->gradient[n->out->id], p->value[n->in[1]->id]), WL_BUFS(dx));
    int rc = wl_gradient_add(p, n, n->in[0], dx, e);
    wl_gradient_done(p, n->out);
    return rc;
}
