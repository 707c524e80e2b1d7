/* The passes: how they are cut, their memory, and their order. */
#include "nn/cpu/winograd_3x3_int16.h"

#include "nn/cpu/chunks.h"
#include "nn/cpu/conv_custom.h"

#ifdef __x86_64__
enum {
    LANES = WL_WINOGRAD_LANES,
    POINTS = WL_WINOGRAD_POINTS,
    SPARE = WL_WINOGRAD_SPARE,
    ROWS = 24,               /* tiles of a block: a multiple of those whose sums are in registers */
    BLOCK_BYTES = 600 << 10, /* of a block's numbers and products, in a second-level cache of 1 MB or more */
    APART = 32, /* elements between the memory of two points: 128 bytes, and not multiples of 4 kB in all */
    ALIGN = 64
};

static int64_t parts_of(int64_t n, int64_t most) { return (n + most - 1) / most; }

/* As many tiles as the cache holds, in whole blocks as long as each other for all threads. */
static int64_t tiles_of_block(const struct wl_winograd_int16 *o)
{
    const int64_t tile =
        POINTS * (o->g.c * (int64_t)sizeof(int16_t) + WL_WINOGRAD_PANEL * LANES * (int64_t)sizeof(float));
    const int64_t fit = BLOCK_BYTES / tile / ROWS * ROWS, most = fit > ROWS ? fit : ROWS;
    const int64_t blocks = parts_of(parts_of(o->g.tiles, most), o->threads) * o->threads;
    return parts_of(parts_of(o->g.tiles, blocks), ROWS) * ROWS;
}

static bool cut(struct wl_winograd_int16 *o, const struct wl_window *v, enum wl_pass pass)
{
    *o = (struct wl_winograd_int16) { .threads = omp_get_max_threads(), .bf16 = wl_winograd_3x3_bf16() };
    if (!wl_winograd_3x3_init(&o->g, v, pass)) return false;
    const int64_t c = o->g.c / LANES, k = o->g.k / LANES;
    o->slices = parts_of(o->g.c, WL_WINOGRAD_SLICE);
    o->depth = parts_of(c, o->slices) * LANES;
    o->panels = parts_of(k, WL_WINOGRAD_PANEL);
    o->block = tiles_of_block(o);
    o->u_step = o->depth / 2 * o->g.k + APART;
    o->v_step = (o->block + SPARE) * (o->depth / 2) + APART;
    o->m_step = (o->block + SPARE) * WL_WINOGRAD_PANEL * LANES + APART;
    o->undo_step = o->block + SPARE;
    return true;
}

/* ---- memory ---- */

struct memory {
    struct wl_winograd_filters filters;
    float *norms, *turned;            /* turned: of each thread */
    struct wl_winograd_values values; /* of the first thread; the others' follow */
    float *m;
    size_t thread_bytes, bytes;
};

static void *take(char *base, size_t *used, int64_t elements)
{
    void *at = base ? base + *used : NULL;
    *used += ((size_t)elements * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

/* From `base` on; NULL: bytes alone. */
static struct memory lay_out(const struct wl_winograd_int16 *o, char *base)
{
    const int64_t planes = o->slices * POINTS;
    struct memory m = { 0 };
    m.filters.u = take(base, &m.bytes, planes * o->u_step);
    m.filters.undo = take(base, &m.bytes, planes * o->g.k);
    m.filters.back = take(base, &m.bytes, o->g.k);
    m.norms = take(base, &m.bytes, o->slices * o->g.n * o->g.h * o->g.w);
    m.turned = take(base, &m.bytes, o->threads * (int64_t)(wl_winograd_filters_scratch(o) / sizeof(float)));
    const size_t shared = m.bytes;
    m.values.v = take(base, &m.bytes, planes * o->v_step);
    m.values.undo = take(base, &m.bytes, o->slices * o->undo_step * WL_WINOGRAD_SCALES);
    m.values.back = take(base, &m.bytes, o->block);
    m.m = take(base, &m.bytes, POINTS * o->m_step);
    m.thread_bytes = m.bytes - shared;
    m.bytes = shared + (size_t)o->threads * m.thread_bytes;
    return m;
}

static void *of_thread(const struct memory *m, void *at)
{
    return (char *)at + (size_t)wl_chunk_thread() * m->thread_bytes;
}

static size_t scratch_bytes(const struct wl_window *v, enum wl_pass pass)
{
    struct wl_winograd_int16 o;
    WL_CHECK(cut(&o, v, pass));
    return lay_out(&o, NULL).bytes;
}

/* ---- a pass ---- */

struct pass {
    struct wl_winograd_int16 o;
    struct memory memory;
    const uint16_t *in;
    const float *bias;
    bool relu;
    uint16_t *out;
};

static void panel(const struct pass *s, const struct wl_winograd_values *values, float *m, int64_t panel, int64_t from,
                  int64_t n)
{
    const struct wl_winograd_int16 *o = &s->o;
    const int64_t first = wl_winograd_panel_from(o, panel), vectors = wl_winograd_panel_from(o, panel + 1) - first;
    for (int64_t i = 0; i < o->slices; i++) {
        const int64_t pairs = (wl_winograd_slice_from(o, i + 1) - wl_winograd_slice_from(o, i)) * (LANES / 2);
        wl_winograd_products(
            &(struct wl_winograd_products) { .n = n,
                                             .pairs = pairs,
                                             .vectors = vectors,
                                             .v = values->v + i * POINTS * o->v_step,
                                             .u = s->memory.filters.u + i * POINTS * o->u_step + pairs * LANES * first,
                                             .v_undo = values->undo + i * o->undo_step * WL_WINOGRAD_SCALES,
                                             .u_undo = s->memory.filters.undo + i * POINTS * o->g.k + first * LANES,
                                             .v_step = o->v_step,
                                             .u_step = o->u_step,
                                             .m_step = o->m_step,
                                             .u_undo_step = o->g.k,
                                             .m = m,
                                             .add = i > 0 });
    }
    wl_winograd_results(o, &(struct wl_winograd_results) { .from = from,
                                                           .n = n,
                                                           .first = first,
                                                           .vectors = vectors,
                                                           .m = m,
                                                           .tile_back = values->back,
                                                           .filter_back = s->memory.filters.back,
                                                           .bias = s->bias,
                                                           .relu = s->relu,
                                                           .out = s->out });
}

static void block(const struct pass *s, int64_t from, int64_t to)
{
    const struct memory *memory = &s->memory;
    const struct wl_winograd_values values = { .v = of_thread(memory, memory->values.v),
                                               .undo = of_thread(memory, memory->values.undo),
                                               .back = of_thread(memory, memory->values.back) };
    wl_winograd_values(&s->o, s->in, memory->norms, from, to, &values);
    for (int64_t i = 0; i < s->o.panels; i++) panel(s, &values, of_thread(memory, memory->m), i, from, to - from);
}

static void run(const struct wl_conv_call *c)
{
    const bool data = c->pass == WL_PASS_DATA;
    struct pass s = { .in = data ? c->dy : c->x, .bias = c->bias, .relu = c->relu, .out = data ? c->dx : c->y };
    WL_CHECK(cut(&s.o, &c->v, c->pass));
    s.memory = lay_out(&s.o, c->scratch);
    wl_winograd_filters(&s.o, c->w, data, &s.memory.filters, s.memory.turned);
    wl_winograd_norms(&s.o, s.in, s.memory.norms);
    const int64_t tiles = s.o.g.tiles;
#pragma omp parallel for schedule(dynamic)
    for (int64_t from = 0; from < tiles; from += s.o.block)
        block(&s, from, from + s.o.block < tiles ? from + s.o.block : tiles);
}

static bool applies(const struct wl_window *v, enum wl_pass pass)
{
    struct wl_winograd_3x3 g;
    return pass != WL_PASS_WEIGHTS && wl_winograd_3x3_vnni() && wl_winograd_3x3_init(&g, v, pass);
}
#else
static void run(const struct wl_conv_call *c) { (void)c; }
static size_t scratch_bytes(const struct wl_window *v, enum wl_pass pass)
{
    (void)v;
    (void)pass;
    return 0;
}
static bool applies(const struct wl_window *v, enum wl_pass pass)
{
    (void)v;
    (void)pass;
    return false;
}
#endif

const struct wl_conv_custom wl_conv_winograd_3x3_int16 = {
    .answer = WL_WINOGRAD_ANSWER,
    .implementation = "winograd_3x3_int16",
    .numerics = WL_WINOGRAD_NUMERICS,
    .arithmetic = WL_WINOGRAD_ARITHMETIC,
    .applies = applies,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
