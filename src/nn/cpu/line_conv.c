/* Convolutions along a line as steps: values to tiles, filters to points, all points' products as one grouped 1x1
 * convolution of oneDNN's, and back. Tiles and points live as long as a pass. */
#include "nn/cpu/cpu.h"
#include "nn/cpu/line.h"

typedef void moved(const struct wl_line *l, int64_t n, const float *from, float *to);

/* A step that reads use 0 and writes use 1; n: channels, or blocks of filters. */
struct own {
    struct wl_line line;
    int64_t n;
    moved *move;
};

static int run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct own *o = s->own;
    o->move(&o->line, o->n, wl_use_at(s, r, 0), wl_use_at(s, r, 1));
    return 0;
}

static void emit(struct wl_program *p, const struct wl_node *n, const char *what, unsigned when, const struct own *how,
                 struct wl_buf *from, struct wl_buf *to)
{
    struct own *o = wl_new(p->arena, struct own);
    *o = *how;
    struct wl_step *s = wl_emit(p, n, what, when, run);
    s->own = o;
    s->implementation = "winograd";
    wl_reads(p, s, from);
    wl_writes(p, s, to);
}

/* ---- the products ---- */

/* Layouts of a convolution's values and filters in points, and the grouped convolution between them. */
struct products {
    struct wl_layouts l;
    struct wl_dims filters;
    dnnl_primitive_desc_t pd;
};

static int products(struct wl_cpu *c, const struct wl_line *l, const struct wl_window *v, enum wl_pass pass,
                    struct products *out, struct wl_err *e)
{
    const struct wl_dims x = wl_line_tiles(l, v->c), y = wl_line_tiles(l, v->k);
    const struct wl_window point = { .r = 1, .s = 1, .stride = { 1, 1 } };
    struct wl_conv_kernel k = { .pass = WL_PASS_FORWARD, .algorithm = WL_CONV_DIRECT };
    *out = (struct products) { .filters = WL_DIMS(l->points, v->k, v->c, 1, 1) };
    int rc = wl_md_blocked(c, &out->l.src, &x, e);
    if (!rc) rc = wl_md_blocked(c, &out->l.dst, &y, e);
    if (!rc) rc = wl_md_filters(c, &out->l.weights, &out->filters, false, e);
    if (!rc) rc = wl_pd_conv(c, &out->pd, &k, &point, &out->l, NULL, e);
    if (rc || pass == WL_PASS_FORWARD) return rc;
    k.pass = pass;
    dnnl_primitive_desc_t forward = out->pd;
    rc = wl_md_filters(c, &out->l.weights, &out->filters, pass == WL_PASS_DATA, e);
    return rc ? rc : wl_pd_conv(c, &out->pd, &k, &point, &out->l, forward, e);
}

int wl_cpu_line_weights(struct wl_cpu *c, const struct wl_window *v, enum wl_pass pass, wl_md *out, struct wl_err *e)
{
    return wl_md_filters(c, out, &WL_DIMS(v->k, v->c, v->r, v->s), pass == WL_PASS_DATA, e);
}

/* Not by oneDNN's plain loops ("ref:any"), which it has for whatever it has no kernel for. */
bool wl_cpu_line_serves(struct wl_cpu *c, const struct wl_window *v, const struct wl_layouts *values, enum wl_pass pass)
{
    const struct wl_dims x = WL_DIMS(v->n, v->c, v->h, v->w), y = WL_DIMS(v->n, v->k, v->p, v->q);
    struct wl_line l;
    struct products m;
    wl_md src, dst;
    return !values->bias && wl_line_init(&l, v) && !wl_md_blocked(c, &src, &x, NULL) &&
           !wl_md_blocked(c, &dst, &y, NULL) && wl_md_equal(values->src, src) && wl_md_equal(values->dst, dst) &&
           !products(c, &l, v, pass, &m, NULL) && wl_starts(wl_pd_implementation(m.pd), "jit");
}

/* ---- lowering ---- */

/* A pass on its way into the program. */
struct pass {
    struct wl_program *p;
    const struct wl_node *n;
    struct wl_window v;
    struct wl_line line;
    struct products products;
    unsigned when;
};

static int open_pass(struct pass *s, struct wl_program *p, const struct wl_node *n, enum wl_pass pass, unsigned when,
                     struct wl_err *e)
{
    *s = (struct pass) { .p = p, .n = n, .v = wl_conv_window(n), .when = when };
    WL_CHECK(wl_line_init(&s->line, &s->v));
    return products(wl_cpu_of(p), &s->line, &s->v, pass, &s->products, e);
}

static struct wl_buf *tiles(const struct pass *s, int64_t channels)
{
    const struct wl_dims d = wl_line_tiles(&s->line, channels);
    return wl_cpu_buf(s->p, channels == s->v.c ? s->products.l.src : s->products.l.dst, &d);
}

static struct wl_buf *points(const struct pass *s)
{
    return wl_cpu_buf(s->p, s->products.l.weights, &s->products.filters);
}

static void move(const struct pass *s, moved *how, int64_t n, struct wl_buf *from, struct wl_buf *to)
{
    emit(s->p, s->n, "tiles", s->when, &(struct own) { s->line, n, how }, from, to);
}

static int64_t filter_blocks(const struct pass *s) { return s->v.k / WL_LINE_LANES * (s->v.c / WL_LINE_LANES); }

int wl_cpu_line_forward(struct wl_program *p, const struct wl_node *n, struct wl_buf *x, struct wl_buf *w,
                        struct wl_buf *y, struct wl_err *e)
{
    struct pass s;
    int rc = open_pass(&s, p, n, WL_PASS_FORWARD, WL_TRAIN | WL_EVAL, e);
    if (rc) return rc;
    struct wl_buf *of_x = tiles(&s, s.v.c), *of_w = points(&s), *of_y = tiles(&s, s.v.k);
    move(&s, wl_line_filter, filter_blocks(&s), w, of_w);
    move(&s, wl_line_into, s.v.c, x, of_x);
    rc = wl_cpu_emit(p, n, "forward", s.when, s.products.pd,
                     (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, of_x, false },
                                             { DNNL_ARG_WEIGHTS, of_w, false },
                                             { DNNL_ARG_DST, of_y, true },
                                             { 0 } },
                     e);
    if (!rc) move(&s, wl_line_from, s.v.k, of_y, y);
    return rc;
}

/* The gradient of the result as tiles; those made for the pass before serve again. */
static struct wl_buf *gradient_tiles(const struct pass *s, struct wl_buf **made)
{
    if (*made) return *made;
    *made = tiles(s, s->v.k);
    move(s, wl_line_from_back, s->v.k, s->p->gradient[s->n->out->id], *made);
    return *made;
}

int wl_cpu_line_backward_weights(struct wl_program *p, const struct wl_node *n, struct wl_buf *x, struct wl_buf **dy,
                                 struct wl_buf *dw, struct wl_err *e)
{
    struct pass s;
    int rc = open_pass(&s, p, n, WL_PASS_WEIGHTS, WL_TRAIN, e);
    if (rc) return rc;
    struct wl_buf *of_x = tiles(&s, s.v.c), *of_dw = points(&s), *of_dy = gradient_tiles(&s, dy);
    move(&s, wl_line_into, s.v.c, x, of_x);
    rc = wl_cpu_emit(p, n, "backward weights", s.when, s.products.pd,
                     (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, of_x, false },
                                             { DNNL_ARG_DIFF_DST, of_dy, false },
                                             { DNNL_ARG_DIFF_WEIGHTS, of_dw, true },
                                             { 0 } },
                     e);
    if (!rc) move(&s, wl_line_filter_back, filter_blocks(&s), of_dw, dw);
    return rc;
}

int wl_cpu_line_backward_data(struct wl_program *p, const struct wl_node *n, struct wl_buf **dy, struct wl_buf *w,
                              struct wl_buf *dx, struct wl_err *e)
{
    struct pass s;
    int rc = open_pass(&s, p, n, WL_PASS_DATA, WL_TRAIN, e);
    if (rc) return rc;
    struct wl_buf *of_dx = tiles(&s, s.v.c), *of_w = points(&s), *of_dy = gradient_tiles(&s, dy);
    move(&s, wl_line_filter, filter_blocks(&s), w, of_w);
    rc = wl_cpu_emit(p, n, "backward data", s.when, s.products.pd,
                     (struct wl_cpu_arg[]) { { DNNL_ARG_DIFF_DST, of_dy, false },
                                             { DNNL_ARG_WEIGHTS, of_w, false },
                                             { DNNL_ARG_DIFF_SRC, of_dx, true },
                                             { 0 } },
                     e);
    if (!rc) move(&s, wl_line_into_back, s.v.c, of_dx, dx);
    return rc;
}

/* ---- how long a pass takes ---- */

/* Memory of a measurement, as large as the largest of what is moved. */
static int time_move(struct wl_cpu *c, const struct wl_line *l, moved *how, int64_t n, size_t from_bytes,
                     size_t to_bytes, double *seconds, struct wl_err *e)
{
    enum { RUNS = 3 };
    float *from = wl_pages(c->arena, from_bytes, "measuring a kernel", e), *to;
    if (!from || !(to = wl_pages(c->arena, to_bytes, "measuring a kernel", e))) return WL_ENOMEM;
    int64_t best_ns = INT64_MAX;
    for (int i = 0; i <= RUNS; i++) { /* the first one touches the memory */
        const int64_t start_ns = wl_now_ns();
        how(l, n, from, to);
        const int64_t ns = wl_now_ns() - start_ns;
        if (i && ns < best_ns) best_ns = ns;
    }
    *seconds += (double)best_ns / (double)WL_NS_PER_S;
    return 0;
}

static size_t bytes_of(const struct wl_dims *d) { return (size_t)wl_dims_count(d) * sizeof(float); }

int wl_cpu_line_measure(struct wl_cpu *c, const struct wl_window *v, enum wl_pass pass, bool has_dy, double *seconds,
                        struct wl_err *e)
{
    const struct wl_dims x = WL_DIMS(v->n, v->c, v->h, v->w), y = WL_DIMS(v->n, v->k, v->p, v->q);
    const struct wl_dims w = WL_DIMS(v->k, v->c, v->r, v->s);
    const int64_t blocks = v->k / WL_LINE_LANES * (v->c / WL_LINE_LANES);
    struct wl_line l;
    struct products m;
    WL_CHECK(wl_line_init(&l, v));
    const struct wl_dims of_x = wl_line_tiles(&l, v->c), of_y = wl_line_tiles(&l, v->k);
    int rc = products(c, &l, v, pass, &m, e);
    if (!rc) rc = wl_cpu_measure(c, m.pd, seconds, e);
    if (!rc)
        rc = pass == WL_PASS_WEIGHTS
                 ? time_move(c, &l, wl_line_filter_back, blocks, bytes_of(&m.filters), bytes_of(&w), seconds, e)
                 : time_move(c, &l, wl_line_filter, blocks, bytes_of(&w), bytes_of(&m.filters), seconds, e);
    if (!rc)
        rc = pass == WL_PASS_DATA ? time_move(c, &l, wl_line_into_back, v->c, bytes_of(&of_x), bytes_of(&x), seconds, e)
                                  : time_move(c, &l, wl_line_into, v->c, bytes_of(&x), bytes_of(&of_x), seconds, e);
    if (rc || has_dy) return rc;
    return pass == WL_PASS_FORWARD
               ? time_move(c, &l, wl_line_from, v->k, bytes_of(&of_y), bytes_of(&y), seconds, e)
               : time_move(c, &l, wl_line_from_back, v->k, bytes_of(&y), bytes_of(&of_y), seconds, e);
}
