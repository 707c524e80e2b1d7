/* One step = one primitive with its arguments. */
#include "nn/cpu/cpu.h"

#include <string.h>
#include <sys/mman.h>

/* oneDNN generates code for each kernel and dies of a segmentation fault where there is no memory for it. */
int wl_cpu_check_room(const char *what, struct wl_err *e)
{
    enum { ROOM = 16 << 20 };
    void *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room != MAP_FAILED) return munmap(room, ROOM) ? wl_fail_errno(e, "%s", what) : 0;
    return wl_fail(e, WL_ENOMEM,
                   "%s: oneDNN needs %d MiB of address space to make a kernel, which are not left (ulimit -v)", what,
                   ROOM >> 20);
}

int wl_cpu_primitive_new(dnnl_primitive_t *out, const_dnnl_primitive_desc_t pd, const char *what, struct wl_err *e)
{
    int rc = wl_cpu_check_room(what, e);
    return rc ? rc : wl_dnnl_check(dnnl_primitive_create(out, pd), what, e);
}

/* The arguments are bound once, when the buffers have addresses. In the second list, of all micro-batches but the
 * first, a parameter's gradient is replaced by the part that is added to it. */
struct call {
    struct wl_cpu *cpu;
    dnnl_primitive_t primitive;
    wl_md md[WL_MAX_USES];
    int n;
    dnnl_exec_arg_t first[WL_MAX_USES], later[WL_MAX_USES];
};

static void destroy_primitive(void *primitive) { dnnl_primitive_destroy(primitive); }

static void destroy_memory(void *memory) { dnnl_memory_destroy(memory); }

static int memory(struct wl_cpu *c, dnnl_memory_t *out, wl_md md, void *at, struct wl_err *e)
{
    int rc = wl_dnnl_check(dnnl_memory_create(out, md, c->engine, at), "memory", e);
    if (!rc) wl_defer(c->arena, destroy_memory, *out);
    return rc;
}

static int bind(struct wl_step *s, struct wl_err *e)
{
    struct call *c = s->context;
    for (int i = 0; i < c->n; i++) {
        const struct wl_use *u = &s->uses[i];
        int rc = memory(c->cpu, &c->first[i].memory, c->md[i], (u->accumulates ? u->partial : u->buf)->at, e);
        c->later[i].memory = c->first[i].memory;
        if (!rc && u->partial && !u->accumulates) rc = memory(c->cpu, &c->later[i].memory, c->md[i], u->partial->at, e);
        if (rc) return rc;
    }
    return 0;
}

static void *copy(const struct wl_step *s, struct wl_arena *a)
{
    struct call *c = wl_new(a, struct call);
    *c = *(const struct call *)s->context;
    return c;
}

static int run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct call *c = s->context;
    dnnl_status_t status = dnnl_primitive_execute(c->primitive, c->cpu->stream, c->n, r->first ? c->first : c->later);
    return wl_dnnl_check(status, "execute", e);
}

static void add_arg(struct wl_program *p, struct wl_step *s, struct call *c, const_dnnl_primitive_desc_t pd,
                    const struct wl_cpu_arg *a)
{
    c->md[c->n] = wl_pd_md(pd, a->arg);
    WL_CHECK(c->md[c->n] && wl_md_bytes(c->md[c->n]) <= a->buf->bytes);
    c->first[c->n].arg = c->later[c->n].arg = a->arg;
    c->n++;
    if (a->write)
        wl_step_writes(p, s, a->buf);
    else
        wl_step_reads(p, s, a->buf);
}

/* What oneDNN's name of a kernel says of its algorithm: "jit_wino_4x3:avx512_core" makes 6 x 6 multiplications for 4 x
 * 4 results of 9 each. */
static struct wl_arithmetic arithmetic(const char *implementation)
{
    if (strstr(implementation, "wino_4x3"))
        return (struct wl_arithmetic) { .algorithm = "F(4x4,3x3)", .work = 36. / (16 * 9) };
    if (strstr(implementation, "wino_2x3"))
        return (struct wl_arithmetic) { .algorithm = "F(2x2,3x3)", .work = 16. / (4 * 9) };
    return (struct wl_arithmetic) { 0 };
}

int wl_cpu_emit(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                const_dnnl_primitive_desc_t pd, const struct wl_cpu_arg *args, struct wl_err *e)
{
    struct call *c = wl_new(p->arena, struct call);
    c->cpu = wl_cpu_of(p);
    int rc = wl_cpu_primitive_new(&c->primitive, pd, pass, e);
    if (rc) return rc;
    wl_defer(p->arena, destroy_primitive, c->primitive);
    struct wl_step *s = wl_step_emit(p, n, pass, when, run);
    s->context = c;
    s->bind = bind;
    s->clone_context = copy;
    s->implementation = wl_pd_implementation(pd);
    s->arithmetic = arithmetic(s->implementation);
    for (; args->arg; args++)
        if (args->buf) add_arg(p, s, c, pd, args);
    wl_md scratch = wl_pd_md(pd, DNNL_ARG_SCRATCHPAD);
    if (scratch) {
        struct wl_buf *b = wl_cpu_buf(p, scratch, &WL_DIMS((int64_t)wl_md_bytes(scratch)));
        add_arg(p, s, c, pd, &(struct wl_cpu_arg) { DNNL_ARG_SCRATCHPAD, b, true });
    }
    return 0;
}

struct wl_buf *wl_cpu_buf(struct wl_program *p, wl_md md, const struct wl_dims *dims)
{
    return wl_buf_new(p, WL_MEM_VALUE, wl_md_type(md), dims, md, wl_md_bytes(md));
}

int wl_cpu_layout(const struct wl_program *p, const struct wl_buf *b, wl_md *out, struct wl_err *e)
{
    *out = b->layout;
    return b->layout ? 0 : wl_md_plain(wl_cpu_of(p), out, b->dtype, &b->dims, e);
}

int wl_cpu_reorder(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, struct wl_buf *to,
                   struct wl_err *e)
{
    wl_md a, b;
    dnnl_primitive_desc_t pd;
    int rc = wl_cpu_layout(p, from, &a, e);
    if (!rc) rc = wl_cpu_layout(p, to, &b, e);
    if (!rc) rc = wl_pd_reorder(wl_cpu_of(p), &pd, a, b, e);
    if (rc) return rc;
    p->reorders++;
    return wl_cpu_emit(p, n, "reorder", WL_TRAIN | WL_EVAL, pd,
                       (struct wl_cpu_arg[]) { { DNNL_ARG_FROM, from, false }, { DNNL_ARG_TO, to, true }, { 0 } }, e);
}

int wl_cpu_in_layout(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, wl_md want,
                     struct wl_buf **out, struct wl_err *e)
{
    wl_md has;
    int rc = wl_cpu_layout(p, from, &has, e);
    *out = from;
    if (rc || wl_md_equal(has, want)) return rc;
    *out = wl_cpu_buf(p, want, &from->dims);
    return wl_cpu_reorder(p, n, from, *out, e);
}

int wl_cpu_weights(struct wl_program *p, const struct wl_node *n, wl_md master, wl_md want, const struct wl_dims *dims,
                   struct wl_buf **out, struct wl_err *e)
{
    int rc = master ? 0 : wl_md_as(wl_cpu_of(p), &master, want, WL_F32, e);
    if (rc) return rc;
    const struct wl_tensor *t = n->par[0];
    const bool shared = p->value[t->id];
    struct wl_buf *w = wl_buf_param(p, t, master, wl_md_bytes(master));
    if (shared && !wl_dims_equal(&w->dims, dims))
        return wl_fail(e, WL_EINVAL, "%s is read as %s here, but as %s before", t->name, wl_dims_text(p->arena, dims),
                       wl_dims_text(p->arena, &w->dims));
    w->dims = *dims;
    if (p->train) p->gradient[t->id]->dims = *dims;
    return wl_cpu_in_layout(p, n, w, want, out, e);
}

int wl_cpu_gradient_add(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *x, struct wl_buf *dx,
                        struct wl_err *e)
{
    wl_md want;
    if (x->f32) return wl_gradient_add(p, n, x, dx, e); /* plain, and of another type than the value */
    int rc = wl_cpu_layout(p, p->value[x->id], &want, e);
    if (!rc) rc = wl_cpu_in_layout(p, n, dx, want, &dx, e);
    return rc ? rc : wl_gradient_add(p, n, x, dx, e);
}

struct wl_buf *wl_cpu_written(struct wl_program *p, struct wl_buf *b, wl_md writes)
{
    return wl_md_equal(writes, b->layout) ? b : wl_cpu_buf(p, writes, &b->dims);
}

int wl_cpu_copy_back(struct wl_program *p, const struct wl_node *n, struct wl_buf *written, struct wl_buf *to,
                     struct wl_err *e)
{
    return written == to ? 0 : wl_cpu_reorder(p, n, written, to, e);
}

int wl_cpu_backward_weights(struct wl_program *p, const struct wl_node *n, const_dnnl_primitive_desc_t pd,
                            const struct wl_choice *choice, struct wl_buf *x, struct wl_buf *dy, struct wl_err *e)
{
    struct wl_buf *dw = p->gradient[n->par[0]->id], *db = n->par[1] ? p->gradient[n->par[1]->id] : NULL;
    struct wl_buf *to = wl_cpu_written(p, dw, wl_pd_md(pd, DNNL_ARG_DIFF_WEIGHTS));
    int rc = wl_cpu_emit(p, n, "backward weights", WL_TRAIN, pd,
                         (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, x, false },
                                                 { DNNL_ARG_DIFF_DST, dy, false },
                                                 { DNNL_ARG_DIFF_WEIGHTS, to, true },
                                                 { DNNL_ARG_DIFF_BIAS, db, true },
                                                 { 0 } },
                         e);
    if (rc) return rc;
    p->steps[p->n_steps - 1]->choice = choice;
    return wl_cpu_copy_back(p, n, to, dw, e);
}
