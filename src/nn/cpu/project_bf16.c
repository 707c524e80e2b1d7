/* Steps of project and decoder in bf16 with the products of gemm_bf16.c. Each pass reads a copy of the matrix in
 * pairs, which the optimizer writes (nn/host/host.h). */
#include "nn/cpu/gemm_bf16.h"
#include "nn/cpu/project.h"

/* Do our loops run on all threads (threads.h)? */
static bool all_threads(void)
{
#ifdef _OPENMP
    return true;
#else
    return omp_get_max_threads() == 1;
#endif
}

bool wl_project_uses_gemm_bf16(const struct wl_program *p, const struct wl_node *n)
{
    const struct wl_project_shape s = wl_project_shape(n);
    const bool serves = s.f % WL_GEMM_BF16_PANEL == 0 && s.k % WL_GEMM_BF16_PANEL == 0;
    return p->precision == WL_BF16 && serves && all_threads() && wl_gemm_bf16();
}

static struct wl_step *emit(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                            wl_step_run_fn *run)
{
    struct wl_step *s = wl_step_emit(p, n, pass, when, run);
    s->implementation = "gemm_bf16";
    return s;
}

/* ---- copies of the matrix [k,f] ---- */

struct copies {
    struct wl_host_copies host;
    struct wl_buf *forward, *back; /* NULL: no product reads it */
};

static void write_copies(const struct wl_host_copies *host, int64_t i, int64_t j, int64_t n)
{
    const struct copies *c = (const struct copies *)host; /* its first member */
    const struct wl_gemm_bf16_matrix m = { .k = host->rows,
                                           .f = host->columns,
                                           .w = host->master->at,
                                           .forward = c->forward ? c->forward->at : NULL,
                                           .back = c->back ? c->back->at : NULL };
    wl_gemm_bf16()->pack(&m, i, j, n);
}

/* Those of parameter w, which operations may share. */
static struct copies *copies_of(struct wl_program *p, const struct wl_node *n, struct wl_buf *w)
{
    struct wl_cpu *cpu = wl_cpu_of(p);
    const struct wl_project_shape s = wl_project_shape(n);
    for (size_t i = 0; i < cpu->host.n_copies; i++)
        if (cpu->host.copies[i]->master == w) return (struct copies *)cpu->host.copies[i];
    struct copies *c = wl_new(p->arena, struct copies);
    c->host = (struct wl_host_copies) { .master = w, .rows = s.k, .columns = s.f, .write = write_copies };
    wl_host_add_copies(&cpu->host, &c->host, p->arena);
    return c;
}

/* The copy that is to be read as *at. */
static struct wl_buf *copy(struct wl_program *p, struct wl_buf **at, const struct wl_buf *w)
{
    if (!*at) *at = wl_buf_plain(p, WL_MEM_COPY, WL_BF16, &w->dims);
    return *at;
}

/* ---- forward ---- */

static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_project_shape v = wl_project_shape(s->node);
    int i = 0;
    struct wl_gemm_bf16_rows c = { .m = v.m, .depth = v.f, .width = v.k, .gelu = wl_project_gelu(s->node) };
    c.x = wl_use_at(s, r, i++);
    c.w = wl_use_at(s, r, i++);
    c.y = wl_use_at(s, r, i++);
    if (wl_project_bias(s->node)) c.bias = wl_use_at(s, r, i++);
    if (i < s->n_uses && r->training) c.slope = wl_use_at(s, r, i);
    wl_gemm_bf16()->rows(&c);
    return 0;
}

void wl_project_bf16_forward(struct wl_program *p, const struct wl_node *n, struct wl_buf *w, struct wl_buf *b,
                             struct wl_buf *y, struct wl_buf *slope)
{
    struct wl_buf *weights = copy(p, &copies_of(p, n, w)->forward, w);
    struct wl_step *s = emit(p, n, "forward", WL_TRAIN | WL_EVAL, forward_run);
    wl_step_reads(p, s, p->value[n->in[0]->id]);
    wl_step_reads(p, s, weights);
    wl_step_writes(p, s, y);
    if (b) wl_step_reads(p, s, b);
    if (slope) wl_step_writes(p, s, slope);
}

/* ---- backward ---- */

static int weights_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_project_shape v = wl_project_shape(s->node);
    wl_gemm_bf16()->columns(&(struct wl_gemm_bf16_columns) { .m = v.m,
                                                             .k = v.k,
                                                             .f = v.f,
                                                             .dy = wl_use_at(s, r, 0),
                                                             .x = wl_use_at(s, r, 1),
                                                             .dw = wl_use_at(s, r, 2),
                                                             .scratch = wl_use_at(s, r, 3),
                                                             .db = s->n_uses > 4 ? wl_use_at(s, r, 4) : NULL });
    return 0;
}

void wl_project_bf16_backward_weights(struct wl_program *p, const struct wl_node *n, struct wl_buf *dy,
                                      struct wl_buf *dw, struct wl_buf *db)
{
    const struct wl_project_shape v = wl_project_shape(n);
    const size_t scratch = wl_gemm_bf16()->scratch_bytes(v.m, v.f);
    struct wl_step *s = emit(p, n, "backward weights", WL_TRAIN, weights_run);
    wl_step_reads(p, s, dy);
    wl_step_reads(p, s, p->saved[n->out->id].buf[0]);
    wl_step_writes(p, s, dw);
    wl_step_writes(p, s,
                   wl_buf_new(p, WL_MEM_VALUE, WL_BF16, &WL_DIMS((int64_t)(scratch / sizeof(uint16_t))), NULL,
                              scratch));
    if (db) wl_step_writes(p, s, db);
}

/* Use 3: what is added to, which is use 2 once more, or a factor. */
static void data(const struct wl_step *s, const struct wl_run *r, bool add, bool scale)
{
    const struct wl_project_shape v = wl_project_shape(s->node);
    wl_gemm_bf16()->rows(&(struct wl_gemm_bf16_rows) { .m = v.m,
                                                       .depth = v.k,
                                                       .width = v.f,
                                                       .x = wl_use_at(s, r, 0),
                                                       .w = wl_use_at(s, r, 1),
                                                       .y = wl_use_at(s, r, 2),
                                                       .add = add,
                                                       .scale = scale ? wl_use_at(s, r, 3) : NULL });
}

static int data_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    data(s, r, false, false);
    return 0;
}

static int data_add_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    data(s, r, true, false);
    return 0;
}

static int data_scale_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    data(s, r, false, true);
    return 0;
}

void wl_project_bf16_backward_data(struct wl_program *p, const struct wl_node *n, struct wl_buf *dy, struct wl_buf *w,
                                   struct wl_buf *dx, bool add, struct wl_buf *slope)
{
    struct wl_buf *weights = copy(p, &copies_of(p, n, w)->back, w), *other = add ? dx : slope;
    struct wl_step *s = emit(p, n, "backward data", WL_TRAIN, add ? data_add_run : slope ? data_scale_run : data_run);
    wl_step_reads(p, s, dy);
    wl_step_reads(p, s, weights);
    wl_step_writes(p, s, dx);
    if (other) wl_step_reads(p, s, other);
}
