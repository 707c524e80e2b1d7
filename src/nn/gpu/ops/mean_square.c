#include "nn/gpu/kernels/mean_square.h"
#include "nn/gpu/gpu.h"
#include "nn/lowering/lowering.h"

/* saved.buf[2] of the loss has the parts of forward, then their total. */
struct loss {
    struct wl_gpu_kernel parts, total, backward;
    struct wl_gpu_grid grid; /* of backward */
    struct wl_gpu_counts *counts;
    const struct wl_gpu_run *run;
    int64_t n, k, of_part;
    int32_t n_parts;
};

static const struct loss *loss_of(const struct wl_step *s) { return s->context; }

static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct loss *l = loss_of(s);
    const struct wl_gpu_grid many = { .x = (unsigned)l->n_parts, .threads = 256 }, one = { .threads = 256 };
    struct wl_gpu_loss_part *parts = wl_use_at(s, r, 3);
    const struct wl_gpu_loss_parts a = { .x = wl_use_at(s, r, 0),
                                         .target = wl_use_at(s, r, 1),
                                         .parts = parts,
                                         .n = l->n,
                                         .k = l->k,
                                         .of_part = l->of_part };
    const struct wl_gpu_loss_total b = { .parts = parts,
                                         .total = parts + l->n_parts,
                                         .loss = wl_use_at(s, r, 2),
                                         .counts = l->counts,
                                         .weight = s->node->u.loss.weight,
                                         .k = l->k,
                                         .n = l->n_parts,
                                         .counted = s->node->counts };
    int rc = WL_GPU_LAUNCH(&l->parts, &many, &a, e);
    return rc ? rc : WL_GPU_LAUNCH(&l->total, &one, &b, e);
}

static int backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct loss *l = loss_of(s);
    const struct wl_gpu_loss_part *parts = wl_use_at(s, r, 3);
    const struct wl_gpu_loss_backward a = { .x = wl_use_at(s, r, 0),
                                            .target = wl_use_at(s, r, 1),
                                            .total = parts + l->n_parts,
                                            .dx = wl_use_at(s, r, 2),
                                            .run = l->run,
                                            .weight = s->node->u.loss.weight,
                                            .n = l->n,
                                            .k = l->k };
    return WL_GPU_LAUNCH(&l->backward, &l->grid, &a, e);
}

static const struct wl_loss_steps steps = { forward_run, backward_run };

static int find_kernels(struct wl_gpu *g, struct loss *l, struct wl_err *e)
{
    int rc = wl_gpu_kernel(g, "mean_square_parts", &l->parts, e);
    if (!rc) rc = wl_gpu_kernel(g, "mean_square_total", &l->total, e);
    return rc ? rc : wl_gpu_kernel(g, "mean_square_backward", &l->backward, e);
}

static int new_loss(struct wl_program *p, const struct wl_node *n, struct loss **out, struct wl_err *e)
{
    struct wl_gpu *g = wl_gpu_of(p);
    struct loss *l = *out = wl_new(p->arena, struct loss);
    l->counts = g->counts;
    l->run = g->run;
    l->n = n->in[0]->dims.d[0];
    l->k = wl_dims_count(&n->in[0]->dims) / l->n;
    l->of_part = (l->n + WL_GPU_LOSS_PARTS - 1) / WL_GPU_LOSS_PARTS;
    l->n_parts = (int32_t)((l->n + l->of_part - 1) / l->of_part);
    l->grid = wl_gpu_grid_for(g, l->n * l->k, 256, 4);
    if (l->of_part * l->k > UINT32_MAX)
        return wl_fail(e, WL_EINVAL, "%s: rows of %lld numbers, expected fewer than 2^32", n->name, (long long)l->k);
    return find_kernels(g, l, e);
}

/* The step that was emitted last, with what it shares with the other pass. */
static void finish(struct wl_program *p, struct loss *l, struct wl_buf *parts, bool writes)
{
    struct wl_step *s = p->steps[p->n_steps - 1];
    if (writes)
        wl_step_writes(p, s, parts);
    else
        wl_step_reads(p, s, parts);
    s->context = l;
    s->implementation = "mean_square";
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct loss *l;
    int rc = new_loss(p, n, &l, e);
    if (!rc) rc = wl_lower_loss(p, n, e);
    if (rc) return rc;
    const int64_t floats = (int64_t)(sizeof(struct wl_gpu_loss_part) / sizeof(float));
    struct wl_saved *saved = &p->saved[n->out->id];
    saved->buf[2] = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS((l->n_parts + 1) * floats));
    saved->context = l;
    finish(p, l, saved->buf[2], true);
    return 0;
}

/* wl_lower_loss_backward may end with a reorder: the step of the loss comes before. */
static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_saved *saved = &p->saved[n->out->id];
    struct wl_buf *dx = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->in[0]->dims);
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, backward_run, WL_BUFS(saved->buf[0], saved->buf[1]), WL_BUFS(dx));
    finish(p, (struct loss *)saved->context, saved->buf[2], false);
    return wl_gradient_add_plain(p, n, n->in[0], dx, e);
}

const struct wl_op_rules wl_gpu_op_mean_square = { forward, backward, .lowering = &steps };
