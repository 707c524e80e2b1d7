/* Convolutions along a line as steps: values to tiles, filters to points, all points' products as one grouped 1x1
 * convolution of oneDNN's, and back. Tiles and points live as long as a pass. The passes that make values take a few
 * images at a time, whose tiles stay in the cache; that by weights sums over all of them at once. */
#include "nn/cpu/conv.h"
#include "nn/cpu/winograd_1d.h"

typedef void moved(const struct wl_winograd_1d *l, int64_t n, const float *from, float *to);

/* A step that reads use 0 and writes use 1, from these elements on; n: channels, or blocks of filters. */
struct context {
    struct wl_winograd_1d line;
    int64_t n, from, to;
    moved *move;
};

static int run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct context *o = s->context;
    const float *from = wl_use_at(s, r, 0);
    float *to = wl_use_at(s, r, 1);
    o->move(&o->line, o->n, from + o->from, to + o->to);
    return 0;
}

static void emit(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                 const struct context *move, struct wl_buf *from, struct wl_buf *to)
{
    struct context *o = wl_new(p->arena, struct context);
    *o = *move;
    struct wl_step *s = wl_step_emit(p, n, pass, when, run);
    s->context = o;
    s->implementation = "winograd";
    wl_step_reads(p, s, from);
    wl_step_writes(p, s, to);
}

/* Images whose tiles of x and y take at most so many bytes. */
enum { CACHED = 8 << 20 };

static int64_t images_at_once(const struct wl_window *v, enum wl_pass pass)
{
    const struct wl_window one = { .n = 1,
                                   .c = v->c,
                                   .h = v->h,
                                   .w = v->w,
                                   .k = v->k,
                                   .r = v->r,
                                   .s = v->s,
                                   .stride = { 1, 1 },
                                   .pad = { v->pad[0], v->pad[1] } };
    struct wl_winograd_1d l;
    WL_CHECK(wl_winograd_1d_init(&l, &one));
    const struct wl_dims x = wl_winograd_1d_tile_dims(&l, v->c), y = wl_winograd_1d_tile_dims(&l, v->k);
    const int64_t bytes = (wl_dims_count(&x) + wl_dims_count(&y)) * (int64_t)sizeof(float);
    int64_t n = v->n;
    while (pass != WL_PASS_WEIGHTS && n > 1 && (n * bytes > CACHED || v->n % n)) n--;
    return n;
}

/* ---- the products ---- */

/* Layouts of a convolution's values and filters in points, and the grouped convolution between them. */
struct products {
    struct wl_layouts l;
    struct wl_dims filters;
    dnnl_primitive_desc_t pd;
};

static int products(struct wl_cpu *c, const struct wl_winograd_1d *l, const struct wl_window *v, enum wl_pass pass,
                    struct products *out, struct wl_err *e)
{
    const struct wl_dims x = wl_winograd_1d_tile_dims(l, v->c), y = wl_winograd_1d_tile_dims(l, v->k);
    const struct wl_window point = { .r = 1, .s = 1, .stride = { 1, 1 } };
    struct wl_conv_kernel k = { .pass = WL_PASS_FORWARD, .algorithm = WL_CONV_DIRECT };
    *out = (struct products) { .filters = WL_DIMS(l->points, v->k, v->c, 1, 1) };
    int rc = wl_md_blocked(c, &out->l.src, WL_F32, &x, e);
    if (!rc) rc = wl_md_blocked(c, &out->l.dst, WL_F32, &y, e);
    if (!rc) rc = wl_md_filters(c, &out->l.weights, &out->filters, false, e);
    if (!rc) rc = wl_pd_conv(c, &out->pd, &k, &point, &out->l, NULL, e);
    if (rc || pass == WL_PASS_FORWARD) return rc;
    k.pass = pass;
    dnnl_primitive_desc_t forward = out->pd;
    rc = wl_md_filters(c, &out->l.weights, &out->filters, pass == WL_PASS_DATA, e);
    return rc ? rc : wl_pd_conv(c, &out->pd, &k, &point, &out->l, forward, e);
}

int wl_cpu_winograd_1d_weights(struct wl_cpu *c, const struct wl_window *v, enum wl_pass pass, wl_md *out,
                               struct wl_err *e)
{
    return wl_md_filters(c, out, &WL_DIMS(v->k, v->c, v->r, v->s), pass == WL_PASS_DATA, e);
}

/* Not by oneDNN's plain loops ("ref:any"), which it has for whatever it has no kernel for. */
bool wl_cpu_winograd_1d_applies(struct wl_cpu *c, const struct wl_window *v, const struct wl_layouts *values,
                                enum wl_pass pass)
{
    const struct wl_dims x = WL_DIMS(v->n, v->c, v->h, v->w), y = WL_DIMS(v->n, v->k, v->p, v->q);
    struct wl_winograd_1d l;
    struct products m;
    wl_md src, dst;
    return !values->bias && wl_winograd_1d_init(&l, v) && !wl_md_blocked(c, &src, WL_F32, &x, NULL) &&
           !wl_md_blocked(c, &dst, WL_F32, &y, NULL) && wl_md_equal(values->src, src) &&
           wl_md_equal(values->dst, dst) && !products(c, &l, v, pass, &m, NULL) &&
           wl_str_starts(wl_pd_implementation(m.pd), "jit");
}

/* ---- lowering ---- */

/* A pass that is being lowered: its window is that of the images that are taken at once. */
struct pass {
    struct wl_program *p;
    const struct wl_node *n;
    int64_t images; /* in all */
    struct wl_window v;
    struct wl_winograd_1d line;
    struct products products;
    unsigned when;
    struct wl_buf *x, *y, *points; /* x's and y's tiles, or their gradients'; the filters' points */
};

static struct wl_buf *tiles(const struct pass *s, int64_t channels, wl_md layout)
{
    const struct wl_dims d = wl_winograd_1d_tile_dims(&s->line, channels);
    return wl_cpu_buf(s->p, layout, &d);
}

static int open_pass(struct pass *s, struct wl_program *p, const struct wl_node *n, enum wl_pass pass, unsigned when,
                     struct wl_err *e)
{
    *s = (struct pass) { .p = p, .n = n, .v = wl_conv_window(n), .when = when };
    s->images = s->v.n;
    s->v.n = images_at_once(&s->v, pass);
    WL_CHECK(wl_winograd_1d_init(&s->line, &s->v));
    int rc = products(wl_cpu_of(p), &s->line, &s->v, pass, &s->products, e);
    if (rc) return rc;
    s->x = tiles(s, s->v.c, s->products.l.src);
    s->y = tiles(s, s->v.k, s->products.l.dst);
    s->points = wl_cpu_buf(p, s->products.l.weights, &s->products.filters);
    return 0;
}

static void move_filters(const struct pass *s, moved *move, struct wl_buf *from, struct wl_buf *to)
{
    const int64_t blocks = s->v.k / WL_WINOGRAD_1D_LANES * (s->v.c / WL_WINOGRAD_1D_LANES);
    emit(s->p, s->n, "tiles", s->when, &(struct context) { .line = s->line, .n = blocks, .move = move }, from, to);
}

/* Images from `first` on of a value of c channels. */
static int64_t elements(const struct pass *s, int64_t c, int64_t first) { return first * c * s->v.h * s->v.w; }

static void to_tiles(const struct pass *s, moved *move, int64_t c, struct wl_buf *value, int64_t first,
                     struct wl_buf *to)
{
    const struct context context = { .line = s->line, .n = c, .from = elements(s, c, first), .move = move };
    emit(s->p, s->n, "tiles", s->when, &context, value, to);
}

static void from_tiles(const struct pass *s, moved *move, int64_t c, struct wl_buf *from, struct wl_buf *value,
                       int64_t first)
{
    const struct context context = { .line = s->line, .n = c, .to = elements(s, c, first), .move = move };
    emit(s->p, s->n, "tiles", s->when, &context, from, value);
}

/* The products of the images that are taken at once. */
static int multiply(const struct pass *s, const char *pass, const struct wl_cpu_arg *args, struct wl_err *e)
{
    const struct wl_winograd_1d *line = &s->line;
    int rc = wl_cpu_emit(s->p, s->n, pass, s->when, s->products.pd, args, e);
    if (rc) return rc;
    struct wl_step *step = s->p->steps[s->p->n_steps - 1];
    step->flops_share = (double)s->v.n / (double)s->images;
    step->arithmetic = (struct wl_arithmetic) {
        .algorithm = wl_strf(s->p->arena, "F(%d,%d)", line->m, line->taps),
        .work = (double)line->points / (line->m * line->taps),
    };
    return 0;
}

int wl_cpu_winograd_1d_forward(struct wl_program *p, const struct wl_node *n, struct wl_buf *x, struct wl_buf *w,
                               struct wl_buf *y, struct wl_err *e)
{
    struct pass s;
    int rc = open_pass(&s, p, n, WL_PASS_FORWARD, WL_TRAIN | WL_EVAL, e);
    if (!rc) move_filters(&s, wl_winograd_1d_filter, w, s.points);
    for (int64_t first = 0; first < x->dims.d[0] && !rc; first += s.v.n) {
        to_tiles(&s, wl_winograd_1d_input, s.v.c, x, first, s.x);
        rc = multiply(&s, "forward",
                      (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, s.x, false },
                                              { DNNL_ARG_WEIGHTS, s.points, false },
                                              { DNNL_ARG_DST, s.y, true },
                                              { 0 } },
                      e);
        if (!rc) from_tiles(&s, wl_winograd_1d_output, s.v.k, s.y, y, first);
    }
    return rc;
}

int wl_cpu_winograd_1d_backward_weights(struct wl_program *p, const struct wl_node *n, struct wl_buf *x,
                                        struct wl_buf *dw, struct wl_err *e)
{
    struct pass s;
    int rc = open_pass(&s, p, n, WL_PASS_WEIGHTS, WL_TRAIN, e);
    if (rc) return rc;
    to_tiles(&s, wl_winograd_1d_input, s.v.c, x, 0, s.x);
    to_tiles(&s, wl_winograd_1d_output_backward, s.v.k, p->gradient[n->out->id], 0, s.y);
    rc = multiply(&s, "backward weights",
                  (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, s.x, false },
                                          { DNNL_ARG_DIFF_DST, s.y, false },
                                          { DNNL_ARG_DIFF_WEIGHTS, s.points, true },
                                          { 0 } },
                  e);
    if (!rc) move_filters(&s, wl_winograd_1d_filter_backward, s.points, dw);
    return rc;
}

int wl_cpu_winograd_1d_backward_data(struct wl_program *p, const struct wl_node *n, struct wl_buf *w, struct wl_buf *dx,
                                     struct wl_err *e)
{
    struct pass s;
    int rc = open_pass(&s, p, n, WL_PASS_DATA, WL_TRAIN, e);
    if (!rc) move_filters(&s, wl_winograd_1d_filter, w, s.points);
    for (int64_t first = 0; first < dx->dims.d[0] && !rc; first += s.v.n) {
        to_tiles(&s, wl_winograd_1d_output_backward, s.v.k, p->gradient[n->out->id], first, s.y);
        rc = multiply(&s, "backward data",
                      (struct wl_cpu_arg[]) { { DNNL_ARG_DIFF_DST, s.y, false },
                                              { DNNL_ARG_WEIGHTS, s.points, false },
                                              { DNNL_ARG_DIFF_SRC, s.x, true },
                                              { 0 } },
                      e);
        if (!rc) from_tiles(&s, wl_winograd_1d_input_backward, s.v.c, s.x, dx, first);
    }
    return rc;
}

/* ---- how long a pass takes ---- */

struct timed_move {
    moved *move;
    int64_t n; /* channels, or blocks of filters */
    size_t from_bytes, to_bytes;
    struct wl_winograd_1d l;
    float *from, *to;
};

static int run_move(void *context, struct wl_err *e)
{
    const struct timed_move *m = context;
    (void)e;
    m->move(&m->l, m->n, m->from, m->to);
    return 0;
}

static int add_move(struct wl_timings *t, const struct wl_winograd_1d *l, struct timed_move m, int64_t times,
                    struct wl_err *e)
{
    struct timed_move *to = wl_new(t->arena, struct timed_move);
    m.l = *l;
    m.from = wl_host_pages(t->arena, m.from_bytes, "measuring a kernel", e);
    if (!m.from || !(m.to = wl_host_pages(t->arena, m.to_bytes, "measuring a kernel", e))) return WL_ENOMEM;
    *to = m;
    wl_timings_add(t, run_move, to, times);
    return 0;
}

static size_t bytes_of(const struct wl_dims *d) { return (size_t)wl_dims_count(d) * sizeof(float); }

/* To tiles and back, and the products: all but the filters, of the images that are taken at once. */
static int add_values(struct wl_cpu *c, const struct wl_winograd_1d *l, const struct wl_window *v, enum wl_pass pass,
                      const struct products *m, int64_t times, struct wl_timings *to, struct wl_err *e)
{
    const size_t x = bytes_of(&WL_DIMS(v->n, v->c, v->h, v->w)), y = bytes_of(&WL_DIMS(v->n, v->k, v->h, v->w));
    const struct wl_dims x_dims = wl_winograd_1d_tile_dims(l, v->c), y_dims = wl_winograd_1d_tile_dims(l, v->k);
    const size_t x_tiles = bytes_of(&x_dims), y_tiles = bytes_of(&y_dims);
    const struct timed_move of_x = pass == WL_PASS_DATA
                                       ? (struct timed_move) { wl_winograd_1d_input_backward, v->c, x_tiles, x }
                                       : (struct timed_move) { wl_winograd_1d_input, v->c, x, x_tiles };
    const struct timed_move of_y = pass == WL_PASS_FORWARD
                                       ? (struct timed_move) { wl_winograd_1d_output, v->k, y_tiles, y }
                                       : (struct timed_move) { wl_winograd_1d_output_backward, v->k, y, y_tiles };
    int rc = wl_timings_add_primitive(to, c, m->pd, e);
    if (rc) return rc;
    to->v[to->n - 1].times = times;
    rc = add_move(to, l, of_x, times, e);
    return rc ? rc : add_move(to, l, of_y, times, e);
}

int wl_cpu_winograd_1d_add_times(struct wl_cpu *c, const struct wl_window *v, enum wl_pass pass, struct wl_timings *to,
                                 struct wl_err *e)
{
    const size_t w = bytes_of(&WL_DIMS(v->k, v->c, v->r, v->s));
    const int64_t blocks = v->k / WL_WINOGRAD_1D_LANES * (v->c / WL_WINOGRAD_1D_LANES);
    struct wl_window part = *v;
    struct wl_winograd_1d l;
    struct products m;
    part.n = images_at_once(v, pass);
    WL_CHECK(wl_winograd_1d_init(&l, &part));
    int rc = products(c, &l, &part, pass, &m, e);
    if (!rc) rc = add_values(c, &l, &part, pass, &m, v->n / part.n, to, e);
    if (rc) return rc;
    const size_t points = bytes_of(&m.filters);
    const struct timed_move filters = pass == WL_PASS_WEIGHTS
                                          ? (struct timed_move) { wl_winograd_1d_filter_backward, blocks, points, w }
                                          : (struct timed_move) { wl_winograd_1d_filter, blocks, w, points };
    return add_move(to, &l, filters, 1, e);
}
