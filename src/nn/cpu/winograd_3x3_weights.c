/* The pass by weights: all threads make the numbers of a group of pieces, then share the products at their points. */
#include "nn/cpu/winograd_3x3_weights.h"

#include "nn/threads.h"

#include <string.h>

enum { LANES = WL_WINOGRAD_LANES, POINTS = WL_WINOGRAD_POINTS, LINE = 64 /* bytes */ };

/* Bytes of the numbers of a group of pieces. They stay in the caches if several pieces do; those of many channels are
 * written past them, which need not read what is overwritten, and groups are larger: sums go through memory once for
 * each. */
static const size_t cached_bytes = 4 << 20, streamed_bytes = 32 << 20;

/* Between planes of points, lest all lie in one set of a cache. */
enum { PAD = LINE };

static size_t whole_lines(size_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

/* The sizes of a pass, in elements where they do not say bytes. */
struct sizes {
    struct wl_winograd_3x3 g;
    int64_t x_blocks, dy_blocks, panels, pieces, group; /* group: pieces whose numbers are made together */
    bool stream;
    int64_t pairs_step; /* from a point to the next: the pairs of all blocks of x and dy */
    int64_t norms_step;
    int64_t sums_step;                      /* [C][K] */
    size_t pairs, norms, sums, db, scratch; /* bytes: of a piece, a piece, all points, all pieces, a thread */
};

static bool sizes_of(struct sizes *s, const struct wl_window *v)
{
    struct wl_winograd_3x3 g;
    if (!wl_winograd_3x3_init(&g, v, WL_PASS_WEIGHTS)) return false;
    *s = (struct sizes) { .g = g, .x_blocks = g.c / LANES, .dy_blocks = g.k / LANES };
    s->panels = (s->dy_blocks + WL_WINOGRAD_DW_PANEL - 1) / WL_WINOGRAD_DW_PANEL;
    s->pieces = (g.tiles + WL_WINOGRAD_DW_PIECE - 1) / WL_WINOGRAD_DW_PIECE;
    s->pairs_step = (s->x_blocks + s->dy_blocks) * WL_WINOGRAD_DW_BLOCK + PAD / (int64_t)sizeof(wl_winograd_dw_pair);
    s->norms_step = g.c + g.k;
    s->sums_step = g.c * g.k + PAD / (int64_t)sizeof(float);
    s->pairs = whole_lines((size_t)(POINTS * s->pairs_step) * sizeof(wl_winograd_dw_pair));
    s->norms = whole_lines((size_t)(POINTS * s->norms_step) * sizeof(float));
    s->sums = whole_lines((size_t)(POINTS * s->sums_step) * sizeof(float));
    s->db = whole_lines((size_t)(s->pieces * g.k) * sizeof(float));
    s->scratch = whole_lines((size_t)(POINTS * WL_WINOGRAD_DW_APART) * sizeof(float));
    s->stream = s->pairs > cached_bytes;
    s->group = (int64_t)((s->stream ? streamed_bytes : cached_bytes) / s->pairs);
    if (s->group < 1) s->group = 1;
    if (s->group > s->pieces) s->group = s->pieces;
    return true;
}

/* A pass that runs. */
struct pass {
    struct sizes s;
    const struct wl_conv_call *call;
    char *pairs, *norms; /* of a group of pieces */
    float *sums, *db;    /* db [pieces][K] */
    char *scratch;       /* of each thread */
};

static struct pass pass_of(const struct wl_conv_call *c)
{
    struct pass p = { .call = c };
    WL_CHECK(sizes_of(&p.s, &c->v));
    char *at = c->scratch;
    p.pairs = at;
    p.norms = at += p.s.pairs * (size_t)p.s.group;
    p.sums = (float *)(void *)(at += p.s.norms * (size_t)p.s.group);
    p.db = (float *)(void *)(at += p.s.sums);
    p.scratch = at + p.s.db;
    return p;
}

static size_t scratch_bytes(const struct wl_window *v, enum wl_pass pass)
{
    (void)pass;
    struct sizes s;
    WL_CHECK(sizes_of(&s, v));
    return (s.pairs + s.norms) * (size_t)s.group + s.sums + s.db + s.scratch * (size_t)omp_get_max_threads();
}

static wl_winograd_dw_pair *pairs_at(const struct pass *p, int64_t slot, int64_t point, int64_t block)
{
    wl_winograd_dw_pair *piece = (void *)(p->pairs + p->s.pairs * (size_t)slot);
    return piece + point * p->s.pairs_step + block * WL_WINOGRAD_DW_BLOCK;
}

static float *norms_at(const struct pass *p, int64_t slot, int64_t point, int64_t block)
{
    float *piece = (void *)(p->norms + p->s.norms * (size_t)slot);
    return piece + point * p->s.norms_step + block * LANES;
}

static int64_t piece_end(const struct pass *p, int64_t piece)
{
    const int64_t to = (piece + 1) * WL_WINOGRAD_DW_PIECE;
    return to < p->s.g.tiles ? to : p->s.g.tiles;
}

/* Block `block` of x, or beyond them of dy, in a piece, which lies in that slot of the group. */
static void make_numbers(const struct pass *p, int64_t piece, int64_t slot, int64_t block)
{
    const bool is_dy = block >= p->s.x_blocks;
    const int64_t own = is_dy ? block - p->s.x_blocks : block;
    wl_winograd_dw_numbers(&(struct wl_winograd_dw_numbers) {
        .g = &p->s.g,
        .value = is_dy ? p->call->dy : p->call->x,
        .is_dy = is_dy,
        .block = own,
        .from = piece * WL_WINOGRAD_DW_PIECE,
        .to = piece_end(p, piece),
        .pairs = pairs_at(p, slot, 0, block),
        .point_step = p->s.pairs_step,
        .stream = p->s.stream,
        .norms = norms_at(p, slot, 0, block),
        .norm_step = p->s.norms_step,
        .sums = is_dy && p->call->db ? p->db + piece * p->s.g.k + own * LANES : NULL,
        .scratch = (float *)(void *)(p->scratch + p->s.scratch * (size_t)omp_get_thread_num()),
    });
}

/* Sums of all pieces [first, end) at a point, for the filters of a panel; panels are as wide as one another, or one
 * vector more. */
static void add_up(const struct pass *p, int64_t first, int64_t end, int64_t point, int64_t panel)
{
    const struct sizes *s = &p->s;
    const int64_t from = s->dy_blocks * panel / s->panels, to = s->dy_blocks * (panel + 1) / s->panels;
    for (int64_t piece = first; piece < end; piece++) {
        const int64_t slot = piece - first, tiles = piece_end(p, piece) - piece * WL_WINOGRAD_DW_PIECE;
        wl_winograd_dw_sums(&(struct wl_winograd_dw_sums) {
            .c = s->g.c,
            .vectors = to - from,
            .pairs = (tiles + 1) / 2,
            .v = pairs_at(p, slot, point, 0),
            .z = pairs_at(p, slot, point, s->x_blocks + from),
            .v_norms = norms_at(p, slot, point, 0),
            .z_norms = norms_at(p, slot, point, s->x_blocks + from),
            .sums = p->sums + point * s->sums_step + from * LANES,
            .row = s->g.k,
            .add = piece > 0,
        });
    }
}

static void finish_filters(const struct pass *p, int64_t dy_block, int64_t x_block)
{
    const struct sizes *s = &p->s;
    wl_winograd_dw_filter(p->sums + x_block * LANES * s->g.k + dy_block * LANES, s->sums_step, s->g.k,
                          p->call->dw + (dy_block * s->x_blocks + x_block) * WL_WINOGRAD_TAPS * LANES * LANES);
}

static void run(const struct wl_conv_call *c)
{
    const struct pass p = pass_of(c);
    const struct sizes *s = &p.s;
    const int64_t blocks = s->x_blocks + s->dy_blocks;
#pragma omp parallel
    {
        for (int64_t first = 0; first < s->pieces; first += s->group) {
            const int64_t end = first + s->group < s->pieces ? first + s->group : s->pieces;
#pragma omp for schedule(dynamic)
            for (int64_t i = 0; i < (end - first) * blocks; i++)
                make_numbers(&p, first + i / blocks, i / blocks, i % blocks);
#pragma omp for schedule(dynamic)
            for (int64_t i = 0; i < POINTS * s->panels; i++) add_up(&p, first, end, i / s->panels, i % s->panels);
        }
#pragma omp for schedule(static)
        for (int64_t i = 0; i < s->dy_blocks * s->x_blocks; i++) finish_filters(&p, i / s->x_blocks, i % s->x_blocks);
    }
    if (c->db) wl_conv_custom_sum_bias(p.db, s->pieces, s->g.k, c->db);
}

static bool applies(const struct wl_window *v, enum wl_pass pass)
{
    struct sizes s;
    return pass == WL_PASS_WEIGHTS && wl_winograd_3x3_vnni() && sizes_of(&s, v);
}

const struct wl_conv_custom wl_conv_winograd_3x3_weights = {
    .answer = WL_WINOGRAD_ANSWER,
    .implementation = "winograd_3x3_weights",
    .numerics = WL_WINOGRAD_NUMERICS,
    .arithmetic = WL_WINOGRAD_ARITHMETIC,
    .applies = applies,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
