/* The step that runs a plan. */
#include "nn/gpu/dnn/dnn.h"

/* Uses are the operands, then the workspace if there is one. Where a micro-batch that is not the first writes its part
 * of a gradient elsewhere, it has a pack of its own. */
struct call {
    const struct wl_gpu_conv_plan *plan;
    struct wl_arena *arena;
    enum wl_gpu_dnn_tensor tensors[WL_MAX_USES];
    int n;
    cudnnBackendDescriptor_t first, later;
};

static int pack(const struct wl_step *s, bool first, cudnnBackendDescriptor_t *out, struct wl_err *e)
{
    const struct call *c = s->context;
    const struct wl_run r = { .first = first };
    struct wl_gpu_dnn_arg args[WL_MAX_USES];
    for (int i = 0; i < c->n; i++) args[i] = (struct wl_gpu_dnn_arg) { c->tensors[i], wl_use_at(s, &r, i) };
    void *workspace = c->plan->plan.workspace_bytes ? wl_use_at(s, &r, c->n) : NULL;
    return wl_gpu_dnn_pack(c->plan->plan.dnn, args, (size_t)c->n, workspace, out, c->arena, e);
}

static int call_bind(struct wl_step *s, struct wl_err *e)
{
    struct call *c = s->context;
    int rc = pack(s, true, &c->first, e);
    return rc ? rc : pack(s, false, &c->later, e);
}

static void *call_copy(const struct wl_step *s, struct wl_arena *a)
{
    struct call *c = wl_new(a, struct call);
    *c = *(const struct call *)s->context;
    return c;
}

static int call_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct call *c = s->context;
    return wl_gpu_dnn_run(&c->plan->plan, r->first ? c->first : c->later, e);
}

static void add_workspace(struct wl_program *p, struct wl_step *s, int64_t bytes)
{
    const int64_t floats = (bytes + (int64_t)sizeof(float) - 1) / (int64_t)sizeof(float);
    if (bytes) wl_step_writes(p, s, wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(floats)));
}

/* "cuDNN eng47_k2=4, workspace 36.2 MB" */
static const char *implementation(const struct wl_gpu_dnn_plan *plan, struct wl_arena *a)
{
    if (!plan->workspace_bytes) return wl_strf(a, "cuDNN %s", plan->engine);
    return wl_strf(a, "cuDNN %s, workspace %s", plan->engine, wl_human_bytes(a, (double)plan->workspace_bytes));
}

void wl_gpu_dnn_emit(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                     const struct wl_gpu_conv_plan *plan, const struct wl_gpu_dnn_operand *operands)
{
    struct call *c = wl_new(p->arena, struct call);
    struct wl_step *s = wl_step_emit(p, n, pass, when, call_run);
    *c = (struct call) { .plan = plan, .arena = p->arena };
    for (; operands->tensor; operands++) {
        if (!operands->buf) continue;
        c->tensors[c->n++] = operands->tensor;
        if (operands->write)
            wl_step_writes(p, s, operands->buf);
        else
            wl_step_reads(p, s, operands->buf);
    }
    add_workspace(p, s, plan->plan.workspace_bytes);
    s->context = c;
    s->bind = call_bind;
    s->clone_context = call_copy;
    s->implementation = implementation(&plan->plan, p->arena);
    s->choice = plan->choice;
    if (p->tf32) s->arithmetic.numbers = WL_NUMBERS_TF32;
}
