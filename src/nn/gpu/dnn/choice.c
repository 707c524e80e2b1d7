/* Which plan a pass gets. A program asks once for each pass of a shape. */
#include "nn/gpu/dnn/internal.h"

/* Engines for 16 bits want at most 45 MiB for the convolutions of the image networks, f32 up to 490. */
static const int64_t most_workspace = 512 << 20;

struct wl_gpu_dnn_limits wl_gpu_conv_limits(const struct wl_program *p)
{
    return (struct wl_gpu_dnn_limits) { .workspace_bytes = most_workspace, .winograd = p->conv == WL_CONV_WINOGRAD };
}

static const char *function_name(const struct wl_gpu_conv *c) { return c->relu ? " relu" : c->gelu ? " gelu" : ""; }

const char *wl_gpu_conv_question(const struct wl_gpu_dnn *d, const struct wl_gpu_conv *c, struct wl_arena *a)
{
    const struct wl_window *v = &c->window;
    const bool widens = c->pass == WL_GPU_CONV_WEIGHTS && c->dw != c->type;
    return wl_strf(a, "conv2d %s %s%s%s%s%s x %s w %s stride %s pad %s, cuDNN %s", wl_gpu_conv_pass_name(c->pass),
                   c->tf32 ? "tf32" : wl_dtype_name(c->type), widens ? " to f32" : "", c->bias ? " bias" : "",
                   function_name(c), c->sums ? " sums" : "", wl_dims_text(a, &WL_DIMS(v->n, v->c, v->h, v->w)),
                   wl_dims_text(a, &WL_DIMS(v->k, v->c, v->r, v->s)),
                   wl_dims_text(a, &WL_DIMS(v->stride[0], v->stride[1])),
                   wl_dims_text(a, &WL_DIMS(v->pad[0], v->pad[1])), wl_gpu_dnn_version_text(d, a));
}

/* ---- kept plans ---- */

static const char *folder_of(const struct wl_program *p)
{
    const bool asked = p->conv == WL_CONV_AUTO && p->choices && p->choices->folder;
    return asked ? wl_path_join(p->arena, p->choices->folder, "cudnn-plans") : NULL;
}

static const char *key_of(const struct wl_program *p, const struct wl_gpu_conv_plan *c)
{
    const char *machine = p->backend->device->machine(p->device, p->backend->library(p->arena), p->arena);
    return wl_strf(p->arena, "%s: %s: %s", machine, c->question, c->choice ? c->choice->answer : "heuristics");
}

static bool restore(const struct wl_program *p, struct wl_gpu_conv_plan *c, const char *folder)
{
    const struct wl_gpu_dnn *d = wl_gpu_of(p)->dnn;
    const struct wl_gpu_kept_plan k = wl_gpu_dnn_kept(folder, key_of(p, c), p->arena);
    return k.json && !wl_gpu_dnn_plan_restore(d, k.json, k.engine, &c->plan, p->arena, NULL);
}

/* A plan that cannot be kept is made again. */
static void keep(const struct wl_program *p, const struct wl_gpu_conv_plan *c, const char *folder)
{
    struct wl_gpu_dnn *d = wl_gpu_of(p)->dnn;
    struct wl_err e;
    char *json;
    int rc = wl_gpu_dnn_plan_json(&c->plan, &json, p->arena, &e);
    if (!rc) rc = wl_gpu_dnn_keep(folder, key_of(p, c), &(struct wl_gpu_kept_plan) { c->plan.engine, json }, &e);
    if (rc && !d->unkept) wl_log(WL_WARN, "gpu", "cuDNN's plans are not kept for later runs: %s", e.msg);
    d->unkept |= rc != 0;
}

void wl_gpu_conv_keep(const struct wl_program *p, const struct wl_gpu_conv_plan *c)
{
    const char *folder = folder_of(p);
    if (folder) keep(p, c, folder);
}

/* ---- a pass ---- */

/* An answer that the library does not take any more counts as none. */
static bool chosen(const struct wl_program *p, struct wl_gpu_conv_plan *c)
{
    const struct wl_gpu_dnn *d = wl_gpu_of(p)->dnn;
    if (c->choice && wl_gpu_dnn_plan_of(d, &c->conv, c->choice->answer, &c->plan, p->arena, NULL)) c->choice = NULL;
    return c->choice != NULL;
}

static int make(const struct wl_program *p, struct wl_gpu_conv_plan *c, bool fallback, bool *found, struct wl_err *e)
{
    const struct wl_gpu_dnn *d = wl_gpu_of(p)->dnn;
    struct wl_gpu_dnn_limits limits = wl_gpu_conv_limits(p);
    const char *folder = folder_of(p);
    size_t n = 1;
    int rc = 0;
    limits.no_fallback = !fallback;
    if (p->conv == WL_CONV_AUTO && p->choices) c->choice = wl_choices_find(p->choices, c->question);
    *found = true;
    if (folder && restore(p, c, folder)) return 0;
    if (!chosen(p, c)) rc = wl_gpu_dnn_plans(d, &c->conv, &limits, 1, &c->plan, &n, p->arena, e);
    *found = !rc && n;
    if (*found && folder && !d->measures) keep(p, c, folder);
    return rc;
}

static int plan(struct wl_program *p, const struct wl_gpu_conv *conv, bool fallback,
                const struct wl_gpu_conv_plan **out, struct wl_err *e)
{
    struct wl_gpu_dnn *d = wl_gpu_of(p)->dnn;
    const char *question = wl_gpu_conv_question(d, conv, p->arena);
    struct wl_gpu_conv_plan *c = d->planned;
    bool found;
    while (c && !wl_str_eq(c->question, question)) c = c->next;
    *out = c;
    if (c) return 0;
    c = wl_new(p->arena, struct wl_gpu_conv_plan);
    *c = (struct wl_gpu_conv_plan) { .conv = *conv, .question = question, .next = d->planned };
    int rc = make(p, c, fallback, &found, e);
    if (rc || !found) return rc;
    *out = d->planned = c;
    return 0;
}

/* f32 where it is recommended; then the values' type; what the fallback has for f32 would be compiled, and is slow. */
static int plan_weights(struct wl_program *p, const struct wl_gpu_conv *c, const struct wl_gpu_conv_plan **out,
                        struct wl_err *e)
{
    struct wl_gpu_conv wide = *c;
    wide.dw = WL_F32;
    int rc = plan(p, &wide, false, out, e);
    if (!rc && !*out) rc = plan(p, c, true, out, e);
    return rc || *out ? rc : plan(p, &wide, true, out, e);
}

int wl_gpu_conv_plan(struct wl_program *p, const struct wl_gpu_conv *c, const struct wl_gpu_conv_plan **out,
                     struct wl_err *e)
{
    int rc = wl_gpu_dnn_open(wl_gpu_of(p), e);
    if (rc) return rc;
    return c->pass == WL_GPU_CONV_WEIGHTS && c->type != WL_F32 ? plan_weights(p, c, out, e) : plan(p, c, true, out, e);
}

/* ---- fused ---- */

const char wl_gpu_conv_separate[] = "separate";

static bool is_fused(const struct wl_program *p, const struct wl_gpu_conv *c)
{
    if (p->fuse != WL_FUSE_MEASURED) return p->fuse == WL_FUSE_ALWAYS;
    if (p->conv != WL_CONV_AUTO || !p->choices) return false;
    const struct wl_choice *k = wl_choices_find(p->choices, wl_gpu_conv_question(wl_gpu_of(p)->dnn, c, p->arena));
    return k && !wl_str_eq(k->answer, wl_gpu_conv_separate);
}

int wl_gpu_conv_fused_plan(struct wl_program *p, const struct wl_gpu_conv *c, const struct wl_gpu_conv_plan **out,
                           struct wl_err *e)
{
    *out = NULL;
    if (p->fuse == WL_FUSE_NEVER || wl_gpu_dnn_open(wl_gpu_of(p), NULL) || !is_fused(p, c)) return 0;
    return plan(p, c, true, out, e);
}
