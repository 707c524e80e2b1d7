/* The kernels' table, their steps, and how long they take. */
#include "nn/cpu/conv_custom.h"

#include "nn/cpu/conv.h"

#include <string.h>

/* The first one that applies to a shape and pass is the candidate. */
static const struct wl_conv_custom *const kernels[] = { &wl_conv_winograd_3x3_int16, &wl_conv_winograd_3x3_weights,
                                                        &wl_conv_weights_bf16, NULL };

const struct wl_conv_custom *wl_conv_custom_of(const struct wl_window *v, enum wl_pass pass)
{
    for (size_t i = 0; kernels[i]; i++)
        if (kernels[i]->applies(v, pass)) return kernels[i];
    return NULL;
}

bool wl_conv_custom_reads(struct wl_cpu *c, const struct wl_window *v, const struct wl_layouts *values)
{
    wl_md src, dst;
    return !wl_md_blocked(c, &src, WL_BF16, &WL_DIMS(v->n, v->c, v->h, v->w), NULL) &&
           !wl_md_blocked(c, &dst, WL_BF16, &WL_DIMS(v->n, v->k, v->p, v->q), NULL) && wl_md_equal(values->src, src) &&
           wl_md_equal(values->dst, dst);
}

int wl_conv_custom_weights(struct wl_cpu *c, const struct wl_window *v, wl_md *out, struct wl_err *e)
{
    return wl_md_filters(c, out, &WL_DIMS(v->k, v->c, v->r, v->s), false, e);
}

/* ---- steps ---- */

/* What a step computes, and which of its uses is what. */
struct context {
    const struct wl_conv_custom *kernel;
    enum wl_pass pass;
    bool relu;
    int x, dy, w, bias, y, dx, dw, db, scratch;
};

static int run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct context *o = s->context;
    o->kernel->run(&(struct wl_conv_call) { .v = wl_conv_window(s->node),
                                            .pass = o->pass,
                                            .x = wl_any_use_at(s, r, o->x),
                                            .dy = wl_any_use_at(s, r, o->dy),
                                            .w = wl_any_use_at(s, r, o->w),
                                            .bias = wl_any_use_at(s, r, o->bias),
                                            .relu = o->relu,
                                            .y = wl_any_use_at(s, r, o->y),
                                            .dx = wl_any_use_at(s, r, o->dx),
                                            .dw = wl_any_use_at(s, r, o->dw),
                                            .db = wl_any_use_at(s, r, o->db),
                                            .scratch = wl_any_use_at(s, r, o->scratch) });
    return 0;
}

static struct wl_buf *scratch(struct wl_program *p, size_t bytes)
{
    return wl_buf_new(p, WL_MEM_VALUE, WL_BF16, &WL_DIMS((int64_t)(bytes / sizeof(uint16_t))), NULL, bytes);
}

void wl_conv_custom_emit(struct wl_program *p, const struct wl_node *n, const struct wl_conv_custom *kernel,
                         enum wl_pass pass, const struct wl_choice *choice, const struct wl_conv_bufs *b)
{
    static const char *const names[] = { "forward", "backward data", "backward weights" };
    const struct wl_window v = wl_conv_window(n);
    const unsigned when = pass == WL_PASS_FORWARD ? WL_TRAIN | WL_EVAL : WL_TRAIN;
    struct wl_step *s = wl_step_emit(p, n, b->relu ? "forward, relu" : names[pass], when, run);
    struct context *o = s->context = wl_new(p->arena, struct context);
    o->kernel = kernel;
    o->pass = pass;
    o->relu = b->relu;
    o->x = wl_step_reads_any(p, s, b->x);
    o->dy = wl_step_reads_any(p, s, b->dy);
    o->w = wl_step_reads_any(p, s, b->w);
    o->bias = wl_step_reads_any(p, s, b->bias);
    o->y = wl_step_writes_any(p, s, b->y);
    o->dx = wl_step_writes_any(p, s, b->dx);
    o->dw = wl_step_writes_any(p, s, b->dw);
    o->db = wl_step_writes_any(p, s, b->db);
    o->scratch = wl_step_writes_any(p, s, scratch(p, kernel->scratch_bytes(&v, pass)));
    s->choice = choice;
    s->implementation = kernel->implementation;
    s->numerics = kernel->numerics;
    s->arithmetic = kernel->arithmetic;
}

void wl_conv_custom_sum_bias(const float *sums, int64_t pieces, int64_t k, float *db)
{
    memset(db, 0, (size_t)k * sizeof(float));
    for (int64_t piece = 0; piece < pieces; piece++)
        for (int64_t i = 0; i < k; i++) db[i] += sums[piece * k + i];
}

/* ---- how long a pass takes ---- */

struct timed {
    const struct wl_conv_custom *kernel;
    struct wl_conv_call call;
};

static int run_timed(void *context, struct wl_err *e)
{
    (void)e;
    const struct timed *t = context;
    t->kernel->run(&t->call);
    return 0;
}

/* Bytes that are a small number in f32 and in bf16. */
static int filled(struct wl_arena *a, size_t bytes, void *at, struct wl_err *e)
{
    void *v = wl_host_pages(a, bytes, "measuring a kernel", e);
    if (!v) return WL_ENOMEM;
    memset(v, WL_TIME_FILLING, bytes);
    memcpy(at, &v, sizeof v);
    return 0;
}

static int prepare(struct wl_arena *a, struct timed *t, bool bias, struct wl_err *e)
{
    struct wl_conv_call *o = &t->call;
    const size_t x = (size_t)(o->v.n * o->v.c * o->v.h * o->v.w) * sizeof(uint16_t);
    const size_t y = (size_t)(o->v.n * o->v.k * o->v.p * o->v.q) * sizeof(uint16_t);
    const size_t w = (size_t)(o->v.k * o->v.c * o->v.r * o->v.s) * sizeof(float), b = (size_t)o->v.k * sizeof(float);
    const bool weights = o->pass == WL_PASS_WEIGHTS;
    int rc = filled(a, x, o->pass == WL_PASS_DATA ? (void *)&o->dx : (void *)&o->x, e);
    if (!rc) rc = filled(a, y, o->pass == WL_PASS_FORWARD ? (void *)&o->y : (void *)&o->dy, e);
    if (!rc) rc = filled(a, w, weights ? (void *)&o->dw : (void *)&o->w, e);
    if (!rc && bias && o->pass != WL_PASS_DATA) rc = filled(a, b, weights ? (void *)&o->db : (void *)&o->bias, e);
    return rc ? rc : filled(a, t->kernel->scratch_bytes(&o->v, o->pass), &o->scratch, e);
}

int wl_conv_custom_add_time(const struct wl_conv_custom *kernel, const struct wl_window *v, enum wl_pass pass,
                            bool bias, struct wl_timings *to, struct wl_err *e)
{
    struct timed *t = wl_new(to->arena, struct timed);
    t->kernel = kernel;
    t->call.v = *v;
    t->call.pass = pass;
    int rc = prepare(to->arena, t, bias, e);
    if (!rc) wl_timings_add(to, run_timed, t, 1);
    return rc;
}
